"""Hooks for schemathesis: sign the requests, and use existing ids."""

import hashlib
import hmac
import json
import os
import random
import time

import requests
import schemathesis

with open(os.environ["CONFORM_APP"], encoding="utf-8") as file:
    APP = json.load(file)
SHARE = os.environ["CONFORM_SHARE"]
COPIES = os.environ["CONFORM_COPIES"].split()
APPLICANTS = ["anna", "boris", "chen", "dana", "emre", "firm-one", "firm-two", "nomad"]


class Signed(requests.auth.AuthBase):
    """Signs each request as it is sent. One request in 50 gets a wrong signature."""

    def __call__(self, request):
        body = request.body or b""
        if isinstance(body, str):
            body = body.encode()
        timestamp = str(int(time.time()))
        target = request.path_url
        signed = timestamp.encode() + request.method.encode() + target.encode() + body
        signature = hmac.new(APP["secret"].encode(), signed, hashlib.sha256).hexdigest()
        request.headers["X-App-Token"] = APP["token"]
        request.headers["X-App-Access-Ts"] = timestamp
        request.headers["X-App-Access-Sig"] = "0" * 64 if random.random() < 0.02 else signature
        return request


schemathesis.auth.set_from_requests(Signed())


@schemathesis.hook
def map_path_parameters(_context, parameters):
    """Uses an existing applicant in 70 % of the requests."""
    if parameters and "applicantId" in parameters and random.random() < 0.7:
        parameters["applicantId"] = random.choice(APPLICANTS)
    return parameters


@schemathesis.hook
def map_query(context, query):
    """Uses the existing share token in 70 % of the previews, and a share token of its own in some of the copies."""
    if query and "shareToken" in query and random.random() < 0.7:
        if context.operation is None or not context.operation.path.endswith("/import"):
            query["shareToken"] = SHARE
        elif COPIES:
            query["shareToken"] = COPIES.pop()
    return query


@schemathesis.hook
def map_body(_context, body):
    """Uses the existing hit in 70 % of the reviews."""
    if isinstance(body, dict) and "hitId" in body and random.random() < 0.7:
        body.update(amlCaseId="aml-2", hitId="hit-1")
    return body


@schemathesis.hook
def before_call(_context, case, _kwargs):
    """Does not wait for events, of which there are none."""
    if case.query and str(case.query.get("wait")) in map(str, range(1, 61)):
        case.query["wait"] = 0

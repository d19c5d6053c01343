"""Calls every operation with the client that openapi-python-client has generated from the service's OpenAPI document.

    python generated_client.py ADDRESS

The package `casefilter_client` is on the path; CONFORM_APP and CONFORM_SHARE are as for conform.py.
CONFORM_BINARY is the command line, and CONFORM_DB the database of the service.
"""

import hashlib
import hmac
import json
import os
import subprocess
import sys
import time

import httpx
from casefilter_client import Client
from casefilter_client.api.applicants import (
    aml_case,
    company_info,
    compare_info,
    copy_profile,
    create_share_token,
    preview_profile,
    required_id_docs_status,
    review_aml_hit,
    update_company_info,
    update_info,
)
from casefilter_client.api.cases import case_filters, cases_by_filter
from casefilter_client.api.events import (
    case_events,
    delete_standing_filter,
    get_standing_filter,
    list_standing_filters,
    put_standing_filter,
)
from casefilter_client.models import (
    AmlHitReviewRequest,
    AmlHitReviewRequestMatchStatus,
    CaseFilter,
    CompanyInfoUpdate,
    ComplexCriterion,
    ComplexCriterionOp,
    Error,
    ErrorErrorCode,
    ErrorType,
    ExtractedInfoUpdate,
    FieldCriterion,
    FieldCriterionOp,
    ProfileCopyRequest,
    ShareTokenRequest,
)


class Signed(httpx.Auth):
    """Signs each request as it is sent."""

    requires_request_body = True

    def __init__(self, app):
        self.app = app

    def auth_flow(self, request):
        timestamp = str(int(time.time()))
        signed = timestamp.encode() + request.method.encode() + request.url.raw_path + request.content
        signature = hmac.new(self.app["secret"].encode(), signed, hashlib.sha256).hexdigest()
        request.headers["X-App-Token"] = self.app["token"]
        request.headers["X-App-Access-Ts"] = timestamp
        request.headers["X-App-Access-Sig"] = signature
        yield request


def good(response, status=200):
    """Checks the status of a response and returns its parsed body."""
    assert response.status_code == status, (response.status_code, response.content)
    assert response.parsed is not None, response.content
    return response.parsed


def main():
    with open(os.environ["CONFORM_APP"], encoding="utf-8") as file:
        app = json.load(file)
    client = Client(base_url=f"http://{sys.argv[1]}", httpx_args={"auth": Signed(app)})

    names = good(case_filters.sync_detailed(client=client))
    assert "caseReview.status" in names, names

    status = FieldCriterion(field="status", op=FieldCriterionOp.VALUE_0, values=["open"])
    assert status.op.value == "=", status
    contains = next(op for op in FieldCriterionOp if op.value == "$contains")
    either = next(op for op in ComplexCriterionOp if op.value == "$or")
    tagged = FieldCriterion(field="tags", op=contains, values=["cash", "crypto"])
    priority = FieldCriterion(field="priority", op=FieldCriterionOp.VALUE_0, values=["high"])
    criteria = [status, ComplexCriterion(op=either, children=[tagged, priority])]
    page = good(
        cases_by_filter.sync_detailed(
            client=client, body=CaseFilter(criteria=criteria), limit=5, order="-createdAt", count_total_items=True
        )
    ).list_
    assert 0 < len(page.items) <= 5 and page.total_items >= len(page.items), page
    assert (page.page_info.limit, page.page_info.offset) == (5, 0), page
    for case in page.items:
        assert case.case_review.status == "open", case
    ids = [case.id for case in page.items]
    again = good(cases_by_filter.sync_detailed(client=client, body=CaseFilter(ids=ids), limit=10)).list_
    assert sorted(case.id for case in again.items) == sorted(ids), again

    steps = good(required_id_docs_status.sync_detailed("anna", client=client))
    assert steps["IDENTITY"].review_result.review_answer == "GREEN", steps
    profile = good(preview_profile.sync_detailed(client=client, share_token=os.environ["CONFORM_SHARE"]))
    assert profile.id == "anna", profile
    screening = good(aml_case.sync_detailed("anna", client=client))
    assert screening.target_entity_id == "anna" and screening.hits is not None, screening
    info = good(update_info.sync_detailed("anna", client=client, body=ExtractedInfoUpdate(last_name="Grün")))
    assert (info.last_name, info.last_name_en) == ("Grün", "Gruen"), info

    # The operations that are not part of the interface document.
    share = good(
        create_share_token.sync_detailed("anna", client=client, body=ShareTokenRequest(for_client_id="other", ttl_in_secs=60)),
        201,
    )
    assert share.for_client_id == "other" and len(share.token) == 64, share
    copied = good(copy_profile.sync_detailed(client=client, share_token=share.token, body=ProfileCopyRequest(client_id="other")), 201)
    assert copied.client_id == "other" and copied.id != "anna", copied
    again = copy_profile.sync_detailed(client=client, share_token=share.token, body=ProfileCopyRequest(client_id="other"))
    assert again.status_code == 401 and again.parsed.type_ == ErrorType.INVALIDSHARETOKENEXCEPTION, again
    review = AmlHitReviewRequest(
        aml_case_id="aml-2", hit_id="hit-1", match_status=AmlHitReviewRequestMatchStatus("false_positive"), reviewer_name="Kim"
    )
    reviewed = good(review_aml_hit.sync_detailed("anna", client=client, body=review))
    assert (reviewed.review.match_status, reviewed.review.version) == ("false_positive", 1), reviewed
    review.if_version = 0
    assert review_aml_hit.sync_detailed("anna", client=client, body=review).status_code == 409
    assert good(company_info.sync_detailed("firm-one", client=client)).company_name == "One GmbH"
    company = good(update_company_info.sync_detailed("firm-one", client=client, body=CompanyInfoUpdate(tax_id="1")))
    assert (company.company_name, company.tax_id) == ("One GmbH", "1"), company
    comparison = good(compare_info.sync_detailed("boris", client=client, fields="firstName,lastName"))
    assert [own.field for own in comparison.differences] == ["lastName"], comparison

    # Standing filters, their events, and the beginning of the stream, which has no end.
    begun = good(case_events.sync_detailed(client=client))
    assert begun.events == [], begun
    stored = good(put_standing_filter.sync_detailed("urgent", client=client, body=CaseFilter(criteria=[status]), fields="tags"))
    assert (stored.name, stored.replaced) == ("urgent", False), stored
    shown = good(get_standing_filter.sync_detailed("urgent", client=client))
    assert shown.fields == ["tags"], shown
    assert [own.name for own in good(list_standing_filters.sync_detailed(client=client)).filters] == ["urgent"]
    later = good(case_events.sync_detailed(client=client, after=begun.last, wait=1, limit=5))
    assert (later.events, later.last) == ([], begun.last), later
    too_late = case_events.sync_detailed(client=client, after=begun.last + 1)
    assert too_late.status_code == 410 and too_late.parsed.type_ == ErrorType.EVENTSGONEEXCEPTION, too_late
    stream = f"http://{sys.argv[1]}/resources/api/caseManagement/v2/cases/events/stream"
    with httpx.stream("GET", stream, auth=Signed(app)) as response:
        assert response.headers["content-type"] == "text/event-stream", response.headers
        lines = response.iter_lines()
        assert [next(lines), next(lines)] == ["retry: 1000", f"id: {begun.last}"]
    # A case enters, changes and leaves. The service imports it, because it has the database open.
    for review, tags in [("open", []), ("open", ["vip"]), ("blocked", ["vip"])]:
        document = json.dumps({"id": "conform-1", "caseReview": {"status": review}, "tags": tags})
        command = [os.environ["CONFORM_BINARY"], "import", "--db", os.environ["CONFORM_DB"], "-"]
        subprocess.run(command, input=document, text=True, check=True, capture_output=True)
    told = good(case_events.sync_detailed(client=client, after=begun.last, wait=5, limit=5))
    assert [(own.kind, own.id, own.filter_) for own in told.events] == [
        (kind, "conform-1", "urgent") for kind in ["entered", "changed", "left"]
    ], told
    assert told.events[1].fields == ["tags"] and told.last == told.events[2].number, told
    with httpx.stream("GET", stream, auth=Signed(app), headers={"Last-Event-ID": str(begun.last)}) as response:
        data = (line.removeprefix("data: ") for line in response.iter_lines() if line.startswith("data: "))
        streamed = [json.loads(next(data)) for _ in told.events]
    assert [(own["number"], own["kind"], own["filter"]) for own in streamed] == [
        (own.number, own.kind, own.filter_) for own in told.events
    ], streamed
    assert good(delete_standing_filter.sync_detailed("urgent", client=client)).name == "urgent"

    # Error responses are parsed, with their codes and types.
    rejected = cases_by_filter.sync_detailed(client=client, body=CaseFilter(ids=[]), order="statis")
    assert rejected.status_code == 400 and isinstance(rejected.parsed, Error), rejected
    assert rejected.parsed.type_ == ErrorType.INVALIDPARAMETERSEXCEPTION, rejected
    assert rejected.parsed.error_code == ErrorErrorCode.VALUE_4111, rejected
    missing = required_id_docs_status.sync_detailed("no-such-applicant", client=client)
    assert missing.status_code == 404, missing
    assert missing.parsed.type_ == ErrorType.APPLICANTNOTFOUNDEXCEPTION, missing
    print("the generated client called 18 operations")


main()

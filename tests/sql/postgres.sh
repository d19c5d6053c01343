# Functions for PostgreSQL servers in tests, to be sourced. Each server has its data and its socket in its own folder. `scratch`
# is a folder for the logs of installing and creating servers.

is_root() { [ "$(id -u)" = 0 ]; }
# Installs Debian packages, if this is Debian and we are root.
packages() {
    is_root && command -v apt-get >/dev/null || return 1
    { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "$@"; } \
        >"$scratch/apt" 2>&1 || { tail -n 5 "$scratch/apt" >&2; return 1; }
}
# PostgreSQL does not run as root.
as_postgres() { if is_root; then runuser -u postgres -- "$@"; else "$@"; fi; }

# Sets `bin` to the folder of the newest server. Installs one if there is none.
find_server() {
    # A client without a server may have a folder of the same name.
    newest() {
        { ls /usr/lib/postgresql/*/bin/initdb /usr/pgsql-*/bin/initdb 2>/dev/null || true; } | sort -V | tail -n 1 | xargs -r dirname
    }
    bin=$(newest)
    if [ -z "$bin" ]; then packages postgresql || true; bin=$(newest); fi
    [ -n "$bin" ]
}

# make_server FOLDER
make_server() {
    local data=$1/data own=(-A trust -U postgres -E UTF8 --locale=C.UTF-8)
    if is_root; then install -d -o postgres "$1"; else mkdir "$1"; fi
    # A collation other than code points, so that the statements have to name theirs.
    as_postgres "$bin/initdb" -D "$data" "${own[@]}" --locale-provider=icu --icu-locale=en-US >"$scratch/initdb" 2>&1 ||
        { as_postgres rm -rf "$data"; as_postgres "$bin/initdb" -D "$data" "${own[@]}" >"$scratch/initdb" 2>&1; }
    as_postgres tee -a "$data/postgresql.conf" >/dev/null <<END
listen_addresses = ''
unix_socket_directories = '$1'
fsync = off
jit = off
max_connections = 300
END
}

# start_server FOLDER
start_server() {
    as_postgres "$bin/pg_ctl" -D "$1/data" -w -l "$1/log" start >/dev/null || { as_postgres cat "$1/log" >&2; exit 1; }
}

# stop_server FOLDER
stop_server() {
    if [ -d "$1" ]; then as_postgres "$bin/pg_ctl" -D "$1/data" -m immediate stop >/dev/null 2>&1 || true; fi
}

# Completes the arguments of casefilter in bash, including the filters after --where.
# Made by `casefilter completions bash`.
_casefilter() {
    local line
    local -a answer=()
    while IFS= read -r line; do
        answer+=("$line")
    done < <("$1" complete bash -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    COMPREPLY=()
    # Files are completed by bash itself.
    [[ ${answer[0]-files} == words ]] || return 0
    # Each word has its own space, so that a filter stays open.
    compopt +o default -o nospace -o nosort 2>/dev/null
    COMPREPLY=("${answer[@]:1}")
}
complete -o default -F _casefilter casefilter

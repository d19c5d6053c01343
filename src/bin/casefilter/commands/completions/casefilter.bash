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
    # Each completion ends with its own space if it needs one, so that the user can continue a filter.
    compopt +o default -o nospace -o nosort 2>/dev/null
    COMPREPLY=("${answer[@]:1}")
}
complete -o default -F _casefilter casefilter

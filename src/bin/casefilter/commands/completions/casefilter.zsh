#compdef casefilter
# Completes the arguments of casefilter in zsh, including the filters after --where.
# Made by `casefilter completions zsh`.
_casefilter() {
    local line
    local -a answer texts shown
    answer=("${(@f)$("${words[1]}" complete zsh -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ ${answer[1]:-files} != words ]]; then
        _files
        return
    fi
    for line in "${(@)answer[2,-1]}"; do
        texts+=("${line%%$'\t'*}")
        shown+=("${line#*$'\t'}")
    done
    # The texts are whole words with their quotes and spaces.
    (( ${#texts} )) || return 0
    compadd -U -Q -S '' -V casefilter -d shown -a texts
    # The common start of several texts may begin with a quote that is there already, so it is not inserted.
    if (( ${#texts} > 1 )) && [[ $texts[1] == *[\'\"]* ]]; then
        compstate[insert]=
        compstate[list]='list force'
    fi
}
if [[ ${funcstack[1]-} == _casefilter ]]; then
    _casefilter "$@"
else
    compdef _casefilter casefilter
fi

# Completes the arguments of casefilter in fish, including the filters after --where.
# Made by `casefilter completions fish`.
function __casefilter_complete
    set -l tokens (commandline -opc)
    set -l answer (command $tokens[1] complete fish -- $tokens[2..-1] (commandline -ct) 2>/dev/null)
    if test "$answer[1]" = words
        printf '%s\n' $answer[2..-1]
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c casefilter -f -a '(__casefilter_complete)'

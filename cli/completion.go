package cli

import "fmt"

// hiddenComplete is the subcommand that the scripts of completion call.
const hiddenComplete = "__complete"

// completionScripts ask `yarn __complete` for every word, so that they know nothing of the commands themselves. Each line that they get is a word, a tab
// and what it is; the line ":files" stands for names of files.
var completionScripts = map[string]string{
	"bash": `# bash completion of yarn; made by: yarn completion bash
_yarn() {
  local line=${COMP_LINE:0:COMP_POINT} cur word rest skip=
  local -a words
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  cur=${words[${#words[@]}-1]}
  # What readline takes for the beginning of the word: the rest behind the last colon or equals sign.
  if [[ $COMP_WORDBREAKS == *:* && $cur == *:* ]]; then skip=${cur%"${cur##*:}"}; fi
  if [[ $COMP_WORDBREAKS == *=* && ${cur#"$skip"} == *=* ]]; then rest=${cur#"$skip"}; skip+=${rest%"${rest##*=}"}; fi
  COMPREPLY=()
  while IFS=$'\t' read -r word _; do
    if [[ $word == :files ]]; then
      compopt -o filenames 2>/dev/null
      while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "${cur##*=}")
      continue
    fi
    COMPREPLY+=("${word#"$skip"}")
  done < <("${words[0]}" __complete -- "${words[@]:1}" 2>/dev/null)
  [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *, ]] && compopt -o nospace 2>/dev/null
  return 0
}
complete -F _yarn yarn
`,
	"zsh": `#compdef yarn
# zsh completion of yarn; made by: yarn completion zsh
_yarn() {
  local line word
  local -a found
  while IFS= read -r line; do
    word=${line%%$'\t'*}
    if [[ $word == :files ]]; then _files; continue; fi
    if [[ $line == *$'\t'?* ]]; then found+=("${word//:/\\:}:${line#*$'\t'}"); else found+=("${word//:/\\:}"); fi
  done < <("${words[1]}" __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)
  (( ${#found} )) && _describe yarn found
}
if [ "$funcstack[1]" = _yarn ]; then _yarn "$@"; else compdef _yarn yarn; fi
`,
	"fish": `# fish completion of yarn; made by: yarn completion fish
function __yarn_complete
    set -l words (commandline -opc)
    for line in ($words[1] __complete -- $words[2..] (commandline -ct) 2>/dev/null)
        if string match -q ":files*" -- $line
            __fish_complete_path (commandline -ct)
        else
            echo $line
        end
    end
end
complete -c yarn -e
complete -c yarn -f -a '(__yarn_complete)'
`,
}

// completion prints the script of a shell.
func completion(c *call) error {
	if helps(c.args) {
		c.usage()
		fmt.Fprint(c.Stdout, "\nFor this shell alone: source <(yarn completion bash), or yarn completion fish | source. For all: into "+
			"/usr/share/bash-completion/completions/yarn, /usr/share/zsh/site-functions/_yarn or /usr/share/fish/vendor_completions.d/yarn.fish.\n")
		return nil
	}
	if len(c.args) != 1 || completionScripts[c.args[0]] == "" {
		return c.refuse("name one shell: bash, zsh or fish")
	}
	fmt.Fprint(c.Stdout, completionScripts[c.args[0]])
	return nil
}

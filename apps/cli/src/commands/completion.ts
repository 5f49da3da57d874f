import { CliError } from "../cli-error.ts";
import { writeJson, type Terminal } from "../terminal.ts";

/** Each calls `yard __complete` with the words before the cursor and the one under it, and expects a candidate a line. */
const SCRIPTS = {
  bash: `# yard completion: add to ~/.bashrc:  source <(yard completion bash)
_yard() {
  local IFS=$'\\n'
  COMPREPLY=($("\${COMP_WORDS[0]}" __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _yard yard ./yard`,
  zsh: `#compdef yard
# yard completion: add to ~/.zshrc:  source <(yard completion zsh)
_yard() {
  local -a candidates
  candidates=("\${(@f)$("\${words[1]}" __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  (( \${#candidates} )) && compadd -- $candidates || _files
}
compdef _yard yard ./yard`,
  fish: `# yard completion: add to ~/.config/fish/completions/yard.fish:  yard completion fish | source
function __yard_complete
  set -l words (commandline -opc) (commandline -ct)
  $words[1] __complete $words[2..-1] 2>/dev/null
end
complete -c yard -f -a '(__yard_complete)'`,
} as const;

export function completion(terminal: Terminal, shell: string, options: { json?: true }): void {
  const script = Object.entries(SCRIPTS).find(([name]) => name === shell)?.[1];
  if (script === undefined)
    throw new CliError("usage", `there is no completion for ${shell}`, {
      hint: `shells: ${Object.keys(SCRIPTS).join(", ")}`,
    });
  if (options.json) return writeJson(terminal, { shell, script });
  terminal.out(script);
}

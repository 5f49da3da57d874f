/** In every shell, or in every system's base: not worth declaring. */
const ORDINARY = new Set(
  "if then else elif fi for while until do done case esac in function select time echo printf cd pwd export set unset local declare readonly read test true false exit return source eval exec trap shift wait kill sleep alias type command let getopts umask ulimit break continue history jobs bg fg cat cp mv rm ls mkdir rmdir touch ln chmod chown head tail sort uniq wc cut tr tee grep egrep fgrep sed awk find xargs basename dirname date env id whoami which whereis uname hostname df du ps top free stat file diff cmp comm paste split join seq expr tar gzip gunzip zip unzip less more man clear tput stty sudo su nohup nice mktemp realpath readlink sh bash zsh dash ksh pushd popd dirs yes sync install od xxd hexdump base64 md5sum sha256sum shasum sum rev tac nl fold fmt column pbcopy open".split(
    " ",
  ),
);
const COMMAND =
  /^(?:[A-Z_][A-Z0-9_]{0,63}=\S{0,200} {1,4}){0,4}(?:(?:sudo|time|exec|nohup|command|env|then|do|else|if|while|!) {1,4}){0,3}([a-z][a-z0-9._+-]{1,40})(?=\s|$)/;

/** Returns the programs that a shell text calls. It reads the first word of each command, without a shell parser. */
export function* shellWords(code: string): Generator<string> {
  let heredocEnd: string | null = null;
  let isContinued = false;
  for (const written of code.split("\n")) {
    const line = written
      .slice(0, 1_000)
      .trim()
      .replace(/^[$%>] /, "");
    if (heredocEnd !== null) {
      if (line === heredocEnd) heredocEnd = null;
      continue;
    }
    const isPartOfLast = isContinued;
    isContinued = line.endsWith("\\");
    heredocEnd = /<<-?\s{0,2}["']?([A-Za-z_]\w{0,30})["']?/.exec(line)?.[1] ?? null;
    if (line === "" || line.startsWith("#")) continue;
    const bare = line.replaceAll(/"[^"]*"|'[^']*'/g, "''").replace(/\s#.*$/, "");
    const commands = bare.split(/\|\|?|&&|;|\$\(/);
    for (const command of isPartOfLast ? commands.slice(1) : commands) {
      const word = COMMAND.exec(command.trim())?.[1];
      if (word !== undefined && !ORDINARY.has(word) && !/\.(?:sh|py|js|ts|md|json)$/.test(word))
        yield word;
    }
  }
}

import { STRONG_CREDENTIALS, TOOL_CREDENTIALS } from "../credentials.ts";

/** Labels for values that must not leave the machine or must not be run. */
export type Label = "key" | "token" | "environment" | "download";

/** Sources of data that must not leave, in any language. */
const SOURCES: readonly {
  readonly label: Label;
  readonly pattern: RegExp;
  /** A shell command such as `env` is an ordinary name in a program. */
  readonly in?: "shell";
}[] = [
  { label: "key", pattern: STRONG_CREDENTIALS },
  { label: "token", pattern: TOOL_CREDENTIALS },
  {
    label: "token",
    pattern:
      /\.env\b(?<=(?:@|\bcat |\bopen\(|[Rr]ead\w*\(|\bread |<\s?|-T |\bcp |file |Content |\bbase64 )["']?[\w.~$/{}-]{0,60}\.env)(?!\.(?:example|sample|template)|\w)/,
  },
  {
    // The pattern begins with the command: a lookbehind from each `.env` is slow.
    label: "token",
    pattern: /\btar [\w-]{1,8} [^\n]{0,100}\.env\b(?!\.(?:example|sample|template)|\w)/,
  },
  {
    label: "environment",
    pattern:
      /\bprocess\.env\b(?!\s*(?:\.|\?|\[))|\bos\.environ\b(?!\s*(?:\[|\.(?:get|setdefault|pop)\b))|\bDeno\.env\.toObject|\bENV\.(?:to_h|to_a|inspect|each|map)|%ENV\b|\$_ENV\b(?!\[)|\bgetenv\(\s*\)|(?:[Gg]et-[Cc]hild[Ii]tem|gci|dir|ls)\s+[Ee]nv:|\bos\.Environ\(\)|\/proc\/(?:self|\d+|\*)\/environ/,
  },
  {
    label: "environment",
    in: "shell",
    pattern:
      /(?:^|[;|&(`]|\b(?:sudo|command))\s*(?:env|printenv|set|export -p|declare -x)\s*(?=$|[|)>`])/m,
  },
];
/** A key that is used to log in, or that a command writes, is not read; a public one is no secret. */
const NOT_READ =
  /(?:(?<=\s|^)-i|IdentityFile|ssh-add|ssh-keygen[^\n|;]{0,60}? -f|--(?:private-)?key|--cert|-E|key_filename|pkey)[ =]{1,3}["']?[\w~$/{}.-]{4,80}|(?<=\s|^)(?:-o|-O|--output|-out|-OutFile)[ =]{1,2}["']?[\w~$/{}.-]{2,80}|>{1,2}\s{0,3}["']?[\w~$/{}.-]{2,80}|[\w~$/{}.-]{0,60}\.pub\b|\S{1,60}@\S{1,60}:\S{1,80}|known_hosts|authorized_keys/g;

/** True when the text names a source, read or not. */
export function namesSource(text: string): boolean {
  return SOURCES.some(({ pattern }) => pattern.test(text));
}

/** Returns the labels of the secrets that a statement reads. */
export function sourcesIn(text: string, kind: "shell" | "code"): Label[] {
  // Nearly no statement names one.
  if (!namesSource(text)) return [];
  const read = text.replaceAll(NOT_READ, " ");
  return SOURCES.filter((source) => (source.in ?? kind) === kind && source.pattern.test(read)).map(
    ({ label }) => label,
  );
}

/** Programs and calls that fetch. */
export const FETCHES =
  /(?:(?<=bin\/)|(?<![\w./~-]))(?:curl|wget|aria2c|axel|lwp-request|GET|lynx|links|w3m|http|https|xh|fetch|ftp|tftp|scp|rsync|sftp|nc|ncat|netcat|socat|telnet)(?:\.exe)?(?=\s|["'],)|(?i:\b(?:iwr|irm|bitsadmin|certutil|mshta|start-bitstransfer|invoke-webrequest|invoke-restmethod)\b|download(?:string|file|data)|webclient|\bxmlhttprequest)|\b(?:requests|httpx|session|client|axios|got|superagent|needle|request)\.(?:get|request|stream)\b|\burlopen|\burlretrieve|\bfetch\(|\baxios\(|\bhttps?\.(?:get|request)\b|\bopen-?uri|URI\.(?:open|parse)|Net::HTTP|LWP::|HTTP::Tiny|\bget\(|file_get_contents|fsockopen|\bgit\s+clone|\/dev\/(?:tcp|udp)\/|socket/;

/** Matches a command that reads a program from its input. An interpreter with a program of its own only gets data. */
export const READS_PROGRAM =
  /^\s*(?:(?:sudo|env|nohup|exec|command|time|xargs|busybox|setsid|timeout|doas|builtin)\s+(?:-{1,2}[\w=-]{1,20}\s+|\w+=\S*\s+|\d+\w?\s+){0,4}){0,3}["']?(?:\/(?:\w+\/){0,4})?(?:env\s+)?(?:(?:(?:ba|z|da|a|k|fi|c|tc)?sh|pwsh|powershell|osascript|iex|invoke-expression|cmd|source|\.|at|batch|parallel)(?:\.exe)?(?![\w.-])(?!\s+-c\b)|(?:python[\d.]*|node|perl|ruby|php|deno|bun|lua|tclsh)\b(?!\s+(?:-{1,2}(?:[ceEmnlpirV]|eval|print)\b|[\w./-]{1,60}\.\w{1,4}\b))|\$(?!\()[\w{@*"'!#?-]+["']?\s*$|\$\(|`|\/\S{0,40}[?*[]\S{0,20}\s*$)/i;
/** Runs what a command in it prints: `eval "$(…)"`, `bash -c "$(…)"`, `source <(…)`, `sh <<< "$(…)"`, `> >(sh)`. */
export const RUNS_OUTPUT =
  /(?:\b(?:eval|source|exec|iex|invoke-expression|(?:ba|z|da|k|fi)?sh|python[\d.]*|perl|ruby|node|php|deno|bun|pwsh|powershell)|(?:^|[\s;&|(])\.)(?:\.exe)?\s+(?:-{1,2}\w[\w=-]{0,20}\s+){0,4}(?:<\s?)?(?:<<<\s?)?["'(]{0,2}(?:<\(|\$\(|`|\(?(?:irm|iwr|curl|invoke-\w{10}|new-object)\b)|>\s?>\(\s?(?:sudo\s+)?(?:ba|z|da)?sh|&\s?\(|\b(?:iex|invoke-expression)\s?\(/i;
/** A program of another language in a command: `python3 -c "…"`. */
export const RUNS_PROGRAM =
  /\b(?:python[\d.]*|perl|ruby|node|nodejs|php|deno|bun|lua|pwsh|powershell|osascript|awk|gawk)(?:\.exe)?\s+(?:-\S{1,40}\s+){0,4}(?:-{1,2}\w{0,8}(?:[cer]|eval|command)\s+)?(["'])/i;
/** Calls of programs in other languages. */
export const RUNS_CODE =
  /\((?:eval|exec|execSync)\)|(?<![\w.])(?:eval|exec|compile|execfile|system|popen|passthru|shell_exec|proc_open|load|loadstring|dofile|import_module|__import__)\s*\(|(?<![\w.])require\(\s*(?!["'])|\.(?:instance_eval|class_eval)\b|(?<![\w.])(?:eval|exec|system)\s+["'$@(`\w]|\bsubprocess\.\w+|\b(?:os|io)\.(?:system|popen|exec\w*|spawn\w+|startfile)|\b(?:cp|child_process["']?\)?|childProcess|shell|\$|Kernel)\.(?:exec|spawn|fork|execFile|system)(?:Sync)?\(|(?<![\w.])(?:spawn|fork|execFile|exec)(?:Sync)?\(|\.(?:exec|spawn|execFile)Sync\(|\bnew\s+Function\(|(?<![\w.])Function\(|\bvm\.(?:run\w+|Script)|\b(?:pickle|marshal|cloudpickle|dill|joblib)\.loads?|\brunpy\.|\bimportlib\.|\bqx[\s({/]|%x[({]|`[^`\n]{0,200}\|\s?(?:ba)?sh|exec\.Command|\bos\.chmod|\bBun\.spawn|\bDeno\.(?:run|Command)|(?i:\biex\b|invoke-expression|start-process|invoke-item|add-type|\[scriptblock\]|&\s*\$|&\s?\()/;
/** Programs that fetch what their arguments name and run it. */
export const INSTALLS =
  /(?<![\w./~-])(?:npx|bunx|uvx|pipx\s+(?:run|install)|pnpm\s+(?:dlx|add|i|install)|yarn\s+(?:dlx|add)|bun\s+(?:x|add|i|install|run)|npm\s+(?:i|install|exec|add|x)|(?:uv\s+)?pip[\d.]*\s+install|python[\d.]*\s+-m\s+pip\s+install|uv\s+(?:add|tool\s+(?:run|install)|run\s+(?:--with\s+)?(?=["']?http))|conda\s+install|gem\s+install|cargo\s+install|go\s+(?:install|run)|brew\s+install|easy_install|luarocks\s+install|cpanm?|composer\s+(?:require|create-project)|deno\s+(?:run|install)|dpkg\s+-i|rpm\s+-\w*[iU]\w*|(?:apt|apt-get|dnf|yum|zypper|pacman|apk)\s+(?:-\w+\s+)*(?:install|add|-U\w*)|snap\s+install|flatpak\s+install|docker\s+(?:run|build|pull|compose)|podman\s+run|kubectl\s+(?:apply|create)|helm\s+(?:install|upgrade)|ansible-pull|msiexec|regsvr32|rundll32|mshta|hh|wmic|installutil|install-module|install-package|code\s+--install-extension|claude\s+(?:mcp\s+add|plugin)|openclaw\s+(?:skills?\s+install|plugins?\s+install)|clawhub\s+install|jshell)\b|\bjava\s+-jar\s+(?=["']?https?:)|(?:^|[;&|]\s{0,3})(?:xdg-open|open|start|explorer)\s/i;
/** Options whose value is not the installed package. */
const SETTINGS =
  /\s-{1,2}[\w-]{0,24}(?:url|host|server|endpoint|addr|address|proxy|target|api|base|env|e|name|p|v)(?<!index-url)[ =]["']?\S+/gi;

/** The packages that a package manager installs, and their sources. */
export function installedBy(text: string): string {
  const bare = text.replaceAll(SETTINGS, " ");
  // Later arguments belong to the program that is run.
  const [run] =
    /^.{0,40}?\b(?:npx|bunx|uvx|pnpm dlx|yarn dlx)\s+(?:-\S+\s+|--from\s+\S+\s+)*\S+/.exec(bare) ??
    [];
  return run ?? bare;
}

/** Works on the directory that a command is in. */
export const RUNS_HERE =
  /^\s*(?:sudo\s+)?(?:make\b|npm\b|yarn\b|pnpm\b|bun\b|pip[\d.]*\s+install|python[\d.]*\s+\S+\.py|bash\s|sh\s|\.\/|node\s|cargo\s|go\s+(?:run|build|install)|docker\b|cmake\b|\.\s|source\s|npx\b|uv\s|chmod\s\+|perl\s|ruby\s|gradle|mvn|ant\b|rake|just\b|task\b|deno\b)/i;

/** Commands that send data out. */
export const SENDS_SHELL =
  /(?:^|[({`]|\b(?:do|then|else|exec|xargs(?:\s+-\S+(?:\s+\{\})?)*|sudo|env|time|timeout\s+\S+|nohup|command|busybox|proxychains\d?)\s)\s*(?:\w+=\S*\s+){0,4}(?:\S*\/)?(?:curl|wget|nc|ncat|netcat|socat|telnet|scp|rsync|sftp|ftp|tftp|http|https|xh|mail|mailx|mutt|sendmail|swaks|rclone|gsutil|s3cmd|aws\s+s3|gcloud\s+storage|az\s+storage|gh\s+gist|croc|wormhole|magic-wormhole|ssh|websocat|mosquitto_pub|nats\s+pub|openssl\s+s_client)(?:\.exe)?(?=\s|$)|(?i:\b(?:iwr|irm|invoke-webrequest|invoke-restmethod)\b|upload(?:string|file|data))|\/dev\/(?:tcp|udp)\//;
export const SENDS_CODE =
  /\b(?:requests|httpx|session|client|axios|got|superagent|needle|http|https|aiohttp)\.(?:post|put|patch|request|get|delete)\b|\b(?:s|sess|c|conn|ua|agent|ftp|bucket|\$\w+)\.(?:post|put|patch|storbinary|put_object|upload\w*)\b|->(?:post|put|request)\b|\burlopen|urllib\.request|http\.client|\bfetch\(|\baxios\(|\.send(?:all|to|mail|_message|Message)?\(|\.(?:storbinary|sendmail|upload_file|upload_fileobj|put_object)\(|\.src\s*=|Net::HTTP|HTTP::Tiny|LWP::|IO::Socket|TCPSocket|fsockopen|curl_(?:setopt|exec)|file_get_contents|http\.(?:Post|NewRequest)|(?i:sendbeacon|xmlhttprequest|invoke-(?:webrequest|restmethod)|upload(?:string|file|data)|webclient|\biwr\b|\birm\b)/;
/** A program that sends, in a call that runs one. */
export const NAMES_CLIENT = /["'\s](?:curl|wget|nc|ncat|scp|rsync|sftp)["'\s]/;
export const LOOKS_UP_SHELL =
  /(?:^|[({`]|\b(?:do|then|sudo|xargs(?:\s+-\S+)*)\s)\s*(?:dig|nslookup|host|drill|resolvectl|getent\s+hosts|ping|dnscat)\s|(?i:resolve-dnsname)/;
export const LOOKS_UP_CODE =
  /gethostbyname|getaddrinfo|dns\.(?:resolver|lookup|resolve)|(?i:resolve-dnsname)|net\.LookupHost/;
export const TO_CLIPBOARD =
  /(?<![\w./~-])(?:pbcopy|xclip|xsel|wl-copy|clip(?:\.exe)?|set-clipboard|termux-clipboard-set|pyperclip\.copy|clipboard\.(?:copy|write\w*|set\w*))\b/i;

/** A key that is opened, and not one that is only named. */
export const OPENS =
  /open|read|file|load|cat\b|path|home|expand|glob|list|walk|slurp|copy|tar\b|zip|base64|get-content|gc\s|@|<|-T|-F|\w\s?\(\s?["']/i;
/** A regular expression in quotes or between slashes: no file has such a name, and no command such arguments. */
const PATTERN_TEXT =
  /\br"[^"\n]{0,400}\\[bsSdDwW][^"\n]{0,400}"|\br'[^'\n]{0,400}\\[bsSdDwW][^'\n]{0,400}'|[rb]{0,2}"[^"\s\n]{0,200}(?:\\[bsSdDwW./(]|\(\?[:=!<]|\.\*|\[\^|\|)[^"\s\n]{0,200}"|[rb]{0,2}'[^'\s\n]{0,200}(?:\\[bsSdDwW./(]|\(\?[:=!<]|\.\*|\[\^|\|)[^'\s\n]{0,200}'|(?<=[=:(,[]\s{0,3})\/(?![/*])(?:[^/\\\n]|\\.){2,400}\/[gimsuy]{0,5}(?=\s*[,;)\].}]|\s*$)/g;

/** Without the patterns that a scanner looks for. */
export function withoutPatterns(text: string): string {
  return /\\|\||\(\?|\.\*/.test(text) ? text.replaceAll(PATTERN_TEXT, '""') : text;
}

/** Parts of a command that authenticate it: a token is meant to be sent there. */
const PROVES =
  /["']-i["'],\s{0,3}[\w.()"'/~[\]-]{1,80}|(?<=\s)(?:-H|--header|-u|--user|--oauth2-bearer|-b|--cookie|--cert|--key|-E|-A|-Headers?|-Credential|--proxy-header)[ =]{0,2}(?:"[^"\n]{0,400}"|'[^'\n]{0,400}'|\S{1,200})|\b(?:headers|auth|cookies|cert|pkey|key_filename|Authorization|authorization|token|api_?key|credentials|httpsAgent|jar)["']?\s{0,2}[=:]\s{0,2}(?:\{[^{}\n]{0,400}\}|f?"[^"\n]{0,200}"|f?'[^'\n]{0,200}'|`[^`\n]{0,200}`|[\w.]{1,60}(?:\([^()\n]{0,60}\))?(?:\s?\+\s?[\w.]{1,60}){0,2})/gi;

/** Returns a statement without the parts by which it authenticates. */
export function payloadOf(text: string): string {
  return text.replaceAll(PROVES, " ");
}

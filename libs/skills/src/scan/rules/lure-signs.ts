import type { Destination, Destinations } from "../destinations.ts";
import { linesAround } from "../near.ts";
import type { ScannedText } from "../scanned-text.ts";

export type LureSign =
  | "link"
  | "paste_link"
  | "hidden_link"
  | "program_link"
  | "address_program"
  | "lookalike_tool"
  | "archive_password"
  | "no_protection"
  | "terminal"
  | "run_program"
  | "install"
  | "required";

export interface Sign {
  readonly is: LureSign;
  readonly says: string;
  readonly offset: number;
  readonly length: number;
  /** The line number without blank lines, which an attacker can insert freely. */
  readonly line: number;
}

interface Words extends Pick<Sign, "is" | "says"> {
  readonly pattern: RegExp;
}

const PROGRAM = String.raw`\.(?:exe|msi|dmg|pkg|scr|bat|cmd|apk|appx|jar|iso)\b`;
const QUOTED = String.raw`(?:\x60[^\x60\s]{2,40}\x60|["“「][^"”」\s]{2,40}["”」]|'[^'\s]{2,40}'|\*\*[^*\s]{2,40}\*\*)`;
const PASSWORD_VALUE = String.raw`(?:${QUOTED}|[\w!@#$%.-]{2,40}(?=[\s),.;，。）\x60]|$))`;

/** Patterns of prose, in English and Chinese. Each pattern stays on one line. */
const WORDS: readonly Words[] = [
  {
    is: "archive_password",
    says: "an archive with a password",
    pattern: new RegExp(
      String.raw`(?:extract|unzip|unpack|decompress|archive|\.zip|\.rar|\.7z|\.exe|解压|压缩|提取)[^\n]{0,120}?(?:\bpass(?:word|code|phrase)?\b|密码|密碼|口令)\*{0,2}\)?(?:\s{0,2}(?:is\b|[:=：是为為（(])\s{0,3}${PASSWORD_VALUE}|\s{0,2}${QUOTED})`,
      "giu",
    ),
  },
  {
    is: "archive_password",
    says: "an archive with a password",
    pattern: new RegExp(
      String.raw`(?:\bpass(?:word|code|phrase)?\b|密码|密碼|口令)\*{0,2}(?:\s{0,2}(?:is\b|[:=：是为為（(])\s{0,3}${PASSWORD_VALUE}|\s{0,2}${QUOTED})[^\n]{0,40}?(?:to extract|to unzip|to unpack|to open|解压|解壓|解開)`,
      "giu",
    ),
  },
  {
    is: "terminal",
    says: "a command to be copied into a terminal",
    pattern:
      /\b(?:execute|paste|copy|run|enter|type)\b[^\n]{0,80}?\b(?:in(?:to)?|inside|from|using|with|open(?:ing)?) (?:the |your |a )?(?:mac(?:os)? )?(?:terminal|powershell|command (?:prompt|line)|cmd|shell|console)\b|\bcopy (?:and (?:run|paste|execute) )?(?:the|this|that|its) [^\n]{0,40}(?:command|script|one-?liner)\b|(?:复制|複製|粘贴|貼上|执行|執行|运行|運行|输入)[^\n]{0,40}(?:终端|終端|命令行|命令提示符|powershell|cmd|控制台)|(?:终端|終端|命令行|命令提示符|powershell|控制台)[^\n]{0,30}(?:执行|執行|运行|運行|粘贴|貼上|输入)|(?:复制|複製)[^\n]{0,20}(?:脚本|腳本|命令)/giu,
  },
  {
    is: "run_program",
    says: "a program to be run",
    pattern: new RegExp(
      String.raw`\b(?:run|launch|execute|open|start|double-?click|install)\b[^\n]{0,24}?(?:\b(?:executable|installer|setup(?: file| wizard)?|binary)\b|\S{1,60}${PROGRAM})|(?:unzip|extract|解压|解壓|unpack)[^\n]{0,160}?(?:\band (?:then )?(?:run|launch|execute|open|start)\b|，?(?:然后|再|并|後|后)?(?:运行|執行|执行|启动|啟動|打开|双击))|(?:运行|運行|执行|執行|启动|啟動|打开|双击|安装)[^\n]{0,20}?(?:可执行|執行檔|安装程序|安裝程式|安装包|程序文件|\S{1,60}${PROGRAM})`,
      "giu",
    ),
  },
  {
    is: "install",
    says: "something to be downloaded and installed",
    pattern: /\b(?:download|install|get it|set ?up)\b|下载|下載|安装|安裝/giu,
  },
  {
    is: "required",
    says: "a demand that nothing works without it",
    pattern:
      /\b(?:must|needs? to|has to|have to) (?:first )?(?:be (?:installed|running|active|downloaded)|download|install|run)|\brequires? (?:the )?[\w`*-]{2,40}(?: (?:utility|tool|agent|driver|provider|client|cli|app|program|helper|runtime|package|core))?(?: to (?:be|function|work|run|operate)| installed| for)|\b(?:is|are) required\b|\b(?:will not|won['’]t|cannot|can['’]t|does not|doesn['’]t) (?:work|function|run|start|operate)\b|\bbefore (?:using|starting|proceeding|running|you (?:can|use|start))|\bwithout (?:it|this|the \w+|[\w`-]{2,40}) (?:installed|running)|\bprerequisites?\b|\bmandatory\b|必须|必須|先决条件|前提条件|前置条件|前置要求|需要[^\n]{0,40}(?:才能|支持|工具|安装)|之前[^\n]{0,20}(?:先|必)|否则|否則|无法(?:正常)?(?:使用|工作|运行|进行)/giu,
  },
  {
    is: "no_protection",
    says: "a protection that is switched off",
    pattern:
      /\b(?:disable|turn off|deactivate|pause|whitelist in|add an exclusion (?:to|in)) [\w ']{0,24}(?:antivirus|anti-virus|defender|firewall|gatekeeper|smartscreen|real-?time protection)|(?:关闭|關閉|禁用|停用)[^\n]{0,12}(?:杀毒|防病毒|防火墙|安全软件|Defender)/giu,
  },
];

const OFFERS = /\b(?:download|install|get it|set ?up)\b|下载|下載|安装|安裝|快速设置/i;
/** The distance from a link within which words are read. */
const REACH = 3_000;
/** A site without a scheme, as people write it. */
const TOP_LEVELS =
  "com|net|org|io|co|app|dev|ai|site|top|xyz|sh|me|cc|ru|cn|info|online|forum|link|club|fun|icu|live|pro|store|tech|so|gg|to|st|it|rs|us|es|ee|ly|my|life|pw|su|tk|uk|de|fr|in|eu|ws|biz|cloud|space|website|click|download|run|page|one|host|bot|chat";
/** The end of the name of such a site, or of an address, and the text that follows it. */
const BARE_LINK = new RegExp(
  String.raw`(?:\.(?:${TOP_LEVELS})|\d\.\d{1,3})(?![\w@-]|\.\w)(?::\d{1,5})?(/[^\s"'\x60<>()|\\^\]）。，、]{0,300})?`,
  "gi",
);
/** Without a path; of the others, some are ends of file names. */
const ONLY_A_SITE = /\.(?:com|net|org|io|app|dev|ai|site|top|xyz|forum)$/i;
const LINK_OR_PASSWORD =
  /\b(?:pass(?:word|code|phrase)?\*{0,2}(?:\s{0,2}(?:is\b|[:=`"'“(])))|密码|密碼|口令|(?:https?|ftp):\/\/([^\s"'`<>()|\\^\]）。，、]{3,400})/gi;
const PROGRAM_PATH =
  /\.(?:exe|msi|dmg|pkg|scr|bat|zip|rar|7z|tgz|tar\.gz|jar|apk|iso|sh|command)(?:[?#]|$)|\/releases\/(?:latest\/)?download\//i;
const SHORT_OR_SHARED = /^(?:bit\.ly|tinyurl\.com|is\.gd|cutt\.ly|cutt\.us|t\.ly|rb\.gy|shorturl\.at|goo\.su|mediafire\.com|www\.mediafire\.com|mega\.nz|mega\.co\.nz|dropmefiles\.com|workupload\.com|send\.cm|we\.tl|wetransfer\.com|cdn\.discordapp\.com|pan\.baidu\.com|lanzou[a-z]\.com|\w+\.lanzou\w?\.com|123pan\.com)$/; // prettier-ignore
/** Names of agents and their parts, which a third party's tool uses only to be mistaken for theirs. */
const BRAND =
  /openclaw|open-claw|clawd?bot|clawdhub|clawhub|moltbot|clawd(?=[-_]|auth)|claude-?code|anthropic|chatgpt|openai|codex-?cli|gemini-?cli|mcp-?installer/i;
const BRAND_OWNERS =
  /^(?:[\w-]+\.)*(?:openclaw\.ai|clawd\.bot|clawdbot\.com|molt\.bot|geminicli\.com|clawhub\.(?:ai|com)|clawdhub\.com|claude\.(?:ai|com)|anthropic\.com|openai\.com|chatgpt\.com|googleapis\.com|google\.com|npmjs\.com|pypi\.org|brew\.sh|docs\.rs)$/;
const CODE_HOSTS = /^(?:www\.)?(?:github|gitlab|bitbucket|codeberg|gitee)\.(?:com|org)$/;
const BRAND_ACCOUNTS =
  /^\/(?:openclaw|clawdbot|moltbot|clawhub|anthropics?|openai|google-gemini|steipete)\//i;

const ENDS_OF_SITES = new RegExp(String.raw`\.(?:${TOP_LEVELS}|\d{1,3}(?=[/:]))(?![\w@-])`, "i");

/** False when the text names nothing that could be fetched, so its words need no check. */
export function mayLink(text: string): boolean {
  return text.includes("://") || ENDS_OF_SITES.test(text);
}

/** Returns all signs in a text, in its order. Words are only read near something that could be fetched. */
export function lureSigns(text: ScannedText, destinations: Destinations): Sign[] {
  const found: Omit<Sign, "line">[] = [];
  const near: { start: number; end: number }[] = [];
  const reachFrom = (offset: number) => {
    const last = near.at(-1);
    const end = Math.min(text.text.length, offset + REACH);
    if (last !== undefined && offset - REACH <= last.end) last.end = end;
    else near.push({ start: Math.max(0, offset - REACH), end });
  };
  for (const { offset, length, isWhole, destination } of linksAndPasswords(
    text.text,
    destinations,
  )) {
    if (destination === null) {
      reachFrom(offset);
      continue;
    }
    if (isLocal(destination)) continue;
    const sign = { offset, length };
    // The bare name of a site delivers no file.
    if (isWhole || destination.path !== "") found.push({ is: "link", says: "a link", ...sign });
    for (const [is, says] of linkSigns(destination)) {
      if (is === "lookalike_tool" && !isOffered(text, offset)) continue;
      found.push({ is, says, ...sign });
      reachFrom(offset);
    }
  }
  if (found.length === 0) return [];
  for (const { start, end } of near) found.push(...wordSigns(text.text.slice(start, end), start));
  return delivered(
    withLines(
      text,
      found.toSorted((one, other) => one.offset - other.offset),
    ),
  );
}

interface Place {
  readonly offset: number;
  readonly length: number;
  /** True when the link has a scheme. */
  readonly isWhole: boolean;
  /** Null for a password. */
  readonly destination: Destination | null;
}

/** Returns links and passwords in the order of the text. */
function linksAndPasswords(text: string, destinations: Destinations): Place[] {
  const found: Place[] = [];
  for (const match of text.matchAll(LINK_OR_PASSWORD)) {
    const [destination = null] = match[1] === undefined ? [] : destinations.in(match[0]);
    if (match[1] === undefined || destination !== null)
      found.push({ offset: match.index, length: match[0].length, isWhole: true, destination });
  }
  for (const match of text.matchAll(BARE_LINK)) {
    const path = match[1] ?? "";
    const start = startOfName(text, match.index);
    const host = text
      .slice(start, match.index + match[0].length - path.length)
      .replace(/:\d+$/, "");
    // Behind a slash or an @ it is a part of something else.
    if (
      /[@/:\w\\-]/.test(text[start - 1] ?? "") ||
      !/^(?:[a-z\d][a-z\d-]{0,60}\.){1,5}[a-z\d]+$/i.test(host)
    )
      continue;
    const isSite = /[a-z]$/i.test(host) ? ONLY_A_SITE.test(host) : false;
    if (path === "" && !isSite) continue;
    found.push({
      offset: start,
      length: host.length + path.length,
      isWhole: false,
      destination: destinations.of(host, path),
    });
  }
  return found.toSorted((one, other) => one.offset - other.offset);
}

function startOfName(text: string, end: number): number {
  let start = end;
  while (start > 0 && end - start < 120 && /[\w.-]/.test(text[start - 1] ?? "")) start -= 1;
  return start;
}

/** Removes passwords of archives that no nearby link leads to. */
function delivered(signs: readonly Sign[]): Sign[] {
  const links = new Set(signs.filter(({ is }) => is === "link").map(({ line }) => line));
  const isNear = (line: number) => [-3, -2, -1, 0, 1, 2, 3].some((by) => links.has(line + by));
  return signs.filter(({ is, line }) => is !== "archive_password" || isNear(line));
}

function isOffered(text: ScannedText, offset: number): boolean {
  return OFFERS.test(linesAround(text, offset, { before: 1, after: 1 }));
}

function* wordSigns(part: string, start: number): Generator<Omit<Sign, "line">> {
  for (const { is, says, pattern } of WORDS) {
    for (const match of part.matchAll(pattern)) {
      yield { is, says, offset: start + match.index, length: match[0].length };
    }
  }
}

function* linkSigns(destination: Destination): Generator<readonly [LureSign, string]> {
  const { host, path, kind } = destination;
  const isProgram = PROGRAM_PATH.test(path);
  if (kind === "paste" && path.length > 2) yield ["paste_link", "a paste site"];
  if (isProgram) yield ["program_link", "a program to be downloaded"];
  if (kind === "address" && isProgram) yield ["address_program", "a program at a bare address"];
  if (SHORT_OR_SHARED.test(host) && path.length > 2)
    yield ["hidden_link", "a link that hides what it leads to"];
  if (isLookalike(host, path, isProgram))
    yield ["lookalike_tool", "a tool that bears another maker's name"];
}

/** True for a site that is named after a product, or a program with its name from an unrelated account. */
function isLookalike(host: string, path: string, isProgram: boolean): boolean {
  if (BRAND_OWNERS.test(host)) return false;
  if (!CODE_HOSTS.test(host)) return BRAND.test(host) && (path.length <= 1 || isProgram);
  return isProgram && BRAND.test(path) && !BRAND_ACCOUNTS.test(path);
}

/** True for a host that no outsider controls: this machine, a private network, or a name for examples. */
function isLocal({ host, kind }: Destination): boolean {
  const isNumeric = /^[\d.]+$/.test(host);
  return (
    (isNumeric && kind !== "address" && kind !== "known_bad") ||
    /^(?:localhost$|example\.)|\.(?:local|test|invalid|example)$|^\W/.test(host)
  );
}

const HASH = 35;
const LINES_OF_HEADING = 5;

function withLines(text: ScannedText, found: readonly Omit<Sign, "line">[]): Sign[] {
  const signs: Sign[] = [];
  let line = 0;
  let at = 0;
  for (const sign of found) {
    for (; at < sign.offset; at += 1) {
      // A break after a break is a blank line.
      if (text.text.charCodeAt(at) !== 10 || text.text.charCodeAt(at + 1) === 10) continue;
      // The text below the next heading is about something else.
      line += text.text.charCodeAt(at + 1) === HASH ? LINES_OF_HEADING : 1;
    }
    signs.push({ ...sign, line });
  }
  return signs;
}

import { notRunWarning } from "./dynamic-content.ts";
import { escapeXml } from "./escape-xml.ts";
import { fileList } from "./file-list.ts";
import { splitArguments } from "./split-arguments.ts";

/** The default limit on the part of a prompt that comes from one skill; the importer's configuration can change it. */
export const MAX_PROMPT_BYTES = 32 * 1024;

export interface RenderRequest {
  readonly name: string;
  readonly body: string;
  /** Names declared in the frontmatter; `$N` and `$name` are placeholders only when there are some. */
  readonly argumentNames: readonly string[];
  /** True when a bare `$N` is text, because the names come from `variables`; missing: false. */
  readonly needsBraces?: boolean;
  /** The argument line as typed. */
  readonly arguments: string;
  readonly sessionId: string | null;
  /** The skill's directory, for `{baseDir}`, `${CLAUDE_SKILL_DIR}` and `${CLAUDE_PLUGIN_ROOT}`. */
  readonly baseDirectory: string;
  /** Files beside the SKILL.md, relative to its directory. */
  readonly files?: readonly string[];
  /** The limit in bytes on text and arguments in the prompt; the wrapper comes on top. */
  readonly maxBytes?: number;
}

export interface Rendered {
  readonly text: string;
  readonly warnings: readonly string[];
}

/**
 * Turns a skill into prompt text. Substitution is one pass over the body: inserted text is not scanned, so an argument cannot
 * smuggle in a placeholder. A backslash before a placeholder keeps it as text. Commands (`` !`cmd` ``) and file references
 * (`@file`) are text.
 */
export function renderSkill(request: RenderRequest): Rendered {
  const warnings: string[] = [];
  const line = request.arguments.trim();
  const split = splitArguments(line);
  const filled = substitute(request, { line, words: split.words });
  if (filled.usesWords && split.hasOpenQuote) {
    warnings.push("a quotation mark in the arguments has no partner; it was taken as a character");
  }
  if (filled.lacksSession) {
    warnings.push(
      "the skill asks for the session id and the call has none; the placeholder was left",
    );
  }
  const notRun = notRunWarning(request.body);
  if (notRun !== null) warnings.push(notRun);
  const maxBytes = request.maxBytes ?? MAX_PROMPT_BYTES;
  const suffix = line === "" || filled.usesArguments ? "" : `\n\nARGUMENTS: ${line}`;
  const content = fit({ body: inert(filled.text), suffix: inert(suffix), maxBytes }, warnings);
  const files = fileList(request.baseDirectory, request.files ?? []);
  return {
    text: `<skill_content name="${escapeXml(request.name)}">\n${content}\n${files}</skill_content>`,
    warnings,
  };
}

/**
 * The placeholders of a text in the order of their first use, without `$` and braces: `ARGUMENTS`,
 * `ARGUMENTS[0]`, `1`, `SESSION_ID`, a declared name.
 */
export function extractVariables(
  body: string,
  argumentNames: readonly string[],
  { needsBraces = false }: { readonly needsBraces?: boolean | undefined } = {},
): string[] {
  const names = new Set<string>();
  for (const { groups } of body.matchAll(placeholderPattern({ argumentNames, needsBraces }))) {
    const { slashes = "", written = "" } = groups ?? {};
    if (slashes.length % 2 === 0) names.add(written.replaceAll(/^\$|[{}]/g, ""));
  }
  return [...names];
}

interface Filled {
  readonly text: string;
  readonly usesArguments: boolean;
  readonly usesWords: boolean;
  readonly lacksSession: boolean;
}

function substitute(
  request: RenderRequest,
  given: { line: string; words: readonly string[] },
): Filled {
  let usesWords = false;
  let usesLine = false;
  let lacksSession = false;
  const maxBytes = request.maxBytes ?? MAX_PROMPT_BYTES;

  function valueOf(groups: Placeholder, written: string): string {
    if (groups.base !== undefined) return request.baseDirectory;
    if (groups.session !== undefined) {
      lacksSession ||= request.sessionId === null;
      return request.sessionId ?? written;
    }
    const index = groups.index ?? groups.braced ?? groups.bare;
    if (index !== undefined) {
      usesWords = true;
      // Without such an argument the placeholder stays, as a price like $100 should.
      return given.words[Number(index)] ?? written;
    }
    if (groups.named !== undefined) {
      usesWords = true;
      return given.words[request.argumentNames.indexOf(groups.named)] ?? "";
    }
    usesLine = true;
    return given.line;
  }

  const { body } = request;
  let text = "";
  let at = 0;
  for (const match of body.matchAll(placeholderPattern(request))) {
    text += body.slice(at, match.index);
    at = match.index;
    // Everything from here is cut away later, so substituting in it would waste time and memory.
    if (text.length > maxBytes) break;
    const groups: Placeholder = match.groups ?? {};
    const { slashes = "", written = "" } = groups;
    text +=
      slashes.length % 2 === 1 ? slashes.slice(1) + written : slashes + valueOf(groups, written);
    at += match[0].length;
  }
  text += body.slice(at);
  return { text, usesArguments: usesWords || usesLine, usesWords, lacksSession };
}

type Placeholder = Partial<
  Record<"slashes" | "written" | "session" | "index" | "braced" | "bare" | "named" | "base", string>
>;

function placeholderPattern({
  argumentNames,
  needsBraces = false,
}: Pick<RenderRequest, "argumentNames" | "needsBraces">): RegExp {
  const forms = [
    String.raw`\$(?<session>SESSION_ID\b|\{SESSION_ID\}|\{CLAUDE_SESSION_ID\})`,
    String.raw`\$ARGUMENTS\[(?<index>\d+)\]`,
    String.raw`\$ARGUMENTS\b`,
    String.raw`\$\{(?<braced>\d+)\}`,
    String.raw`(?<base>(?<!\$)\{baseDir\}|\$\{CLAUDE_(?:SKILL_DIR|PLUGIN_ROOT)\})`,
  ];
  if (argumentNames.length > 0) {
    const names = argumentNames.toSorted((a, b) => b.length - a.length).join("|");
    // `$1.42B` and `$1,000` are prices.
    if (!needsBraces) forms.push(String.raw`\$(?<bare>\d+)(?![A-Za-z0-9_]|[.,]\d)`);
    forms.push(String.raw`\$(?<named>${names})(?![A-Za-z0-9_])`);
  }
  // The lookbehind matches only at the start of a run of backslashes, so a long run is not tried at each of its positions.
  return new RegExp(String.raw`(?<!\\)(?<slashes>\\*)(?<written>${forms.join("|")})`, "g");
}

/** Prevents a text from closing its own wrapper, and from opening another skill's. */
function inert(text: string): string {
  return text.replaceAll(/<(?=\/?skill_(?:content|files))/gi, "&lt;");
}

/** Cuts the body rather than the arguments, which are the caller's actual request. */
function fit(
  { body, suffix, maxBytes }: { body: string; suffix: string; maxBytes: number },
  warnings: string[],
): string {
  const sizeBytes = Buffer.byteLength(body) + Buffer.byteLength(suffix);
  if (sizeBytes <= maxBytes) return body + suffix;
  const kept = cutBytes(body, Math.max(0, maxBytes - Buffer.byteLength(suffix)));
  const text = cutBytes(kept + suffix, maxBytes);
  const line = kept.split("\n").length;
  warnings.push(
    `the skill's text has ${sizeBytes} bytes and was cut to ${Buffer.byteLength(text)}: what follows line ${line} of the body is left out; put it into a file beside the skill`,
  );
  return text;
}

function cutBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  let end = maxBytes;
  // Continuation bytes are 10xxxxxx: step back to the start of the character that does not fit.
  while (end > 0 && ((bytes[end] ?? 0) & 0b1100_0000) === 0b1000_0000) end -= 1;
  return bytes.toString("utf8", 0, end);
}

import { z } from "zod";
import type { ContentBlock } from "./mcp.ts";

/** A member of a tool result that does not have the form that MCP prescribes, and how it was handled. */
export interface ContentFinding {
  /** A JSON pointer into the result, such as `/content/0/annotations`. */
  readonly pointer: string;
  readonly problem: string;
}

export interface CleanContent {
  /** The list that came in when nothing had to be changed. */
  readonly content: readonly ContentBlock[];
  readonly findings: readonly ContentFinding[];
}

type Members = Readonly<Record<string, unknown>>;

/** The type of RFC 2046 §4.5.1 for bytes of an unknown kind. */
const UNKNOWN_BYTES = "application/octet-stream";

/**
 * The content of a tool result in the form of the MCP schema (`ContentBlock`,
 * https://modelcontextprotocol.io/specification/2025-11-25/schema#contentblock), for content of any shape. No content is
 * lost: `null` in the place of an optional member is dropped, as is an optional member of the wrong type; a block that lacks
 * what its type requires becomes a text block with its JSON. Members and types of blocks that MCP does not define are kept.
 */
export function cleanContent(raw: unknown): CleanContent {
  if (raw === undefined || raw === null) return { content: [], findings: [] };
  if (!Array.isArray(raw)) {
    const { content, findings } = cleanContent([raw]);
    return {
      content,
      findings: [{ pointer: "/content", problem: "it is not a list" }, ...findings],
    };
  }
  const findings: ContentFinding[] = [];
  const items: readonly unknown[] = raw;
  const content = items.map((item, index) => cleanBlock(item, `/content/${index}`, findings));
  const isClean = findings.length === 0;
  return { content: isClean ? (items as readonly ContentBlock[]) : content, findings }; // each was looked at
}

/**
 * The same content for clients that refuse a whole result for one block of an unknown type, as the official
 * SDKs do: such a block is a text block with its JSON.
 */
export function knownContent(raw: unknown): readonly ContentBlock[] {
  const { content } = cleanContent(raw);
  return content.every(isKnown)
    ? content
    : content.map((block) => (isKnown(block) ? block : asText(block)));
}

function isKnown({ type }: ContentBlock): boolean {
  return Object.hasOwn(CHECKS, type);
}

/** The requirements of each block type. Returns the block, perhaps repaired, or null when it cannot be one of its type. */
const CHECKS: Readonly<Record<string, (block: Members, note: Note) => Members | null>> = {
  text: (block) => (typeof block["text"] === "string" ? block : null),
  image: media,
  audio: media,
  resource(block, note) {
    if (!isMembers(block["resource"])) return null;
    const resource = without(block["resource"], RESOURCE, (path, problem) =>
      note(`resource/${path}`, problem),
    );
    const { uri, text, blob } = resource;
    if (typeof uri !== "string" || (text === undefined && !isBase64(blob))) return null;
    return resource === block["resource"] ? block : { ...block, resource };
  },
  resource_link(block, note) {
    if (typeof block["uri"] !== "string") return null;
    const link = without(block, LINK, note);
    if (typeof link["name"] === "string") return link;
    note("name", "it is missing; the URI is used");
    return { ...link, name: block["uri"] };
  },
};

function media(block: Members, note: Note): Members | null {
  if (!isBase64(block["data"])) return null;
  if (typeof block["mimeType"] === "string") return block;
  note("mimeType", `it is missing; ${UNKNOWN_BYTES} is used`);
  return { ...block, mimeType: UNKNOWN_BYTES };
}

/** Reports a finding about a member of the block, by its path there. */
type Note = (path: string, problem: string) => void;
type IsValid = (value: unknown) => boolean;

const isText: IsValid = (value) => typeof value === "string";
const isList =
  (isItem: IsValid): IsValid =>
  (value) =>
    Array.isArray(value) && value.every((item) => isItem(item));

const IsoTime = z.iso.datetime({ offset: true });

/** True for a time of ISO 8601 with its offset, as the official SDKs require of `annotations.lastModified`. */
export function isIsoTime(value: unknown): boolean {
  return IsoTime.safeParse(value).success;
}

const ANNOTATIONS: Readonly<Record<string, IsValid>> = {
  audience: isList((role) => role === "user" || role === "assistant"),
  priority: (value) => typeof value === "number" && value >= 0 && value <= 1,
  lastModified: isIsoTime,
};

/** Optional members by their required type; one of another type is dropped. */
const RESOURCE: Readonly<Record<string, IsValid>> = {
  mimeType: isText,
  text: isText,
  _meta: isMembers,
};
const Icon = z.object({
  src: z.string(),
  mimeType: z.string().optional(),
  sizes: z.array(z.string()).optional(),
  theme: z.enum(["light", "dark"]).optional(),
});
const LINK: Readonly<Record<string, IsValid>> = {
  title: isText,
  description: isText,
  mimeType: isText,
  size: (value) => typeof value === "number" && Number.isFinite(value),
  icons: isList((icon) => Icon.safeParse(icon).success),
};
const OF_EVERY_BLOCK: Readonly<Record<string, IsValid>> = {
  annotations: isMembers,
  _meta: isMembers,
};

function cleanBlock(item: unknown, pointer: string, findings: ContentFinding[]): ContentBlock {
  const note: Note = (path, problem) =>
    void findings.push({ pointer: `${pointer}/${path}`, problem });
  const block =
    isMembers(item) && typeof item["type"] === "string" ? cleanMembers(item, note) : null;
  const { type } = block ?? {};
  const check = typeof type === "string" && Object.hasOwn(CHECKS, type) ? CHECKS[type] : undefined;
  const checked = block === null || check === undefined ? block : check(block, note);
  if (checked !== null) return checked as ContentBlock; // its type is a text
  findings.push({ pointer, problem: "it is not a content block; its JSON is passed on as text" });
  return asText(item);
}

function cleanMembers(item: Members, note: Note): Members {
  const block = without(item, OF_EVERY_BLOCK, note);
  if (!isMembers(block["annotations"])) return block;
  const annotations = without(block["annotations"], ANNOTATIONS, (path, problem) =>
    note(`annotations/${path}`, problem),
  );
  return annotations === block["annotations"] ? block : { ...block, annotations };
}

/** The members without those of a wrong type; the same object when all of them are right. */
function without(
  members: Members,
  optional: Readonly<Record<string, IsValid>>,
  note: Note,
): Members {
  const wrong = Object.keys(optional).filter(
    (name) => members[name] !== undefined && optional[name]?.(members[name]) !== true,
  );
  if (wrong.length === 0) return members;
  for (const name of wrong)
    note(name, members[name] === null ? "it is null; left out" : "it has the wrong type; left out");
  return Object.fromEntries(Object.entries(members).filter(([name]) => !wrong.includes(name)));
}

function asText(value: unknown): ContentBlock {
  return { type: "text", text: typeof value === "string" ? value : jsonText(value) };
}

function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch {
    return "[nested too deeply to be shown]";
  }
}

function isMembers(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** True for what `atob` accepts, by which the SDKs check it. No pattern here looks at a character twice: the text may have megabytes. */
export function isBase64(value: unknown): boolean {
  if (typeof value !== "string" || !/^[A-Za-z0-9+/=\t\n\f\r ]*$/.test(value)) return false;
  const digits = value.replaceAll(/[\t\n\f\r ]/g, "");
  const padding = digits.indexOf("=");
  if (padding === -1) return digits.length % 4 !== 1;
  return digits.length % 4 === 0 && /^={1,2}$/.test(digits.slice(padding));
}

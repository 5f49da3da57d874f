import type { ToolFinding } from "@switchyard/contracts/mcp-broker/mcp-pins";
import type { JsonRecord } from "@switchyard/contracts/json-record";
import { visible } from "@switchyard/service/visible-text";
import { textsOf } from "./text-findings.ts";

/** The tools of the other servers, with the facts that findings about names need. */
export interface Neighbourhood {
  /** Own names of tools, with the servers that have them, by their skeleton. */
  readonly bySkeleton: ReadonlyMap<string, readonly Neighbour[]>;
  readonly near: NearNames<Neighbour>;
}

export interface Neighbour {
  readonly server: string;
  readonly tool: string;
}

export const noNeighbours: Neighbourhood = {
  bySkeleton: new Map(),
  near: nearNames([]),
};

/** Creates the neighbourhood of a server from all known tools. */
export function neighbourhoodOf(server: string, all: Iterable<Neighbour>): Neighbourhood {
  const others = [...all].filter((tool) => tool.server !== server);
  const bySkeleton = Map.groupBy(others, ({ tool }) => skeleton(tool));
  return {
    bySkeleton,
    near: nearNames([...bySkeleton].flatMap(([text, [first]]) => (first ? [[text, first]] : []))),
  };
}

/** Readers do not confuse longer names by their looks, and a list may have ten thousand of them. */
const LONGEST_COMPARED = 128;

/** The names of a server's tools, those first that others must not look like. */
export class OwnNames {
  readonly #names: ReadonlySet<string>;
  readonly #bySkeleton = new Map<string, string>();

  constructor(names: readonly string[]) {
    this.#names = new Set(names);
    for (const name of this.#names) {
      if (name.length > LONGEST_COMPARED) continue;
      const text = skeleton(name);
      if (!this.#bySkeleton.has(text)) this.#bySkeleton.set(text, name);
    }
  }

  has(name: string): boolean {
    return this.#names.has(name);
  }

  /** The tool of the same server that this name looks like; null when it looks like itself alone. */
  imitatedBy(name: string): string | null {
    if (name.length > LONGEST_COMPARED) return null;
    const first = this.#bySkeleton.get(skeleton(name)) ?? name;
    return first === name ? null : first;
  }
}

/** Sorts names so that one with letters of other alphabets comes behind the one that it may imitate. */
export function byForeignLetters(one: string, other: string): number {
  return foreignLetters(one) - foreignLetters(other);
}

function foreignLetters(name: string): number {
  return name.match(/\P{ASCII}/gu)?.length ?? 0;
}

/** Findings about a tool's name and descriptions in relation to other tools. `own` are those of its own server. */
export function neighbourFindings(
  tool: { readonly name: string; readonly definition: JsonRecord },
  { server, own }: { readonly server: string; readonly own: OwnNames },
  neighbours: Neighbourhood,
): ToolFinding[] {
  const imitated = own.imitatedBy(tool.name);
  return [
    ...(imitated === null
      ? nameFindings(tool.name, neighbours)
      : [nameFinding("name_imitates", tool.name, { server, tool: imitated })]),
    ...referenceFindings(tool.definition, { server, own }, neighbours),
  ];
}

/**
 * The visual form of a name: compatibility forms and marks folded, letters that look alike replaced by one of them, and
 * separators of words left out.
 */
export function skeleton(name: string): string {
  let text = "";
  for (const character of name.normalize("NFKD").toLowerCase())
    text += LOOKALIKES.get(character) ?? (SEPARATOR.test(character) ? "" : character);
  return text.replaceAll("rn", "m").replaceAll("vv", "w");
}

const SEPARATOR = /[\p{M}\p{Cf}\p{P}\p{Z}\p{Variation_Selector}]/u;

/** Cyrillic, Greek, Armenian and Cherokee letters, and digits, that pass for Latin ones. */
const LOOKALIKES = new Map(
  Object.entries({
    a: "аɑα",
    b: "ьƅ",
    c: "сϲⅽ",
    d: "ԁⅾ",
    e: "еєҽ",
    g: "ɡց",
    h: "һհ",
    i: "іıιɩ",
    j: "јϳ",
    k: "кκ",
    l: "1|ӏⅼⅰ",
    m: "мⅿ",
    n: "ոռп",
    o: "0оοօσ",
    p: "рρ",
    q: "ԛգ",
    r: "гᴦ",
    s: "ѕꜱ",
    t: "тτ",
    u: "υսц",
    v: "νѵⅴ",
    w: "ԝѡω",
    x: "хχ⨯",
    y: "уүγ",
    z: "ᴢ",
  }).flatMap(([latin, others]) =>
    Array.from(others).map((other): [string, string] => [other, latin]),
  ),
);

function nameFindings(name: string, { bySkeleton, near }: Neighbourhood): ToolFinding[] {
  const own = skeleton(name);
  const same = bySkeleton.get(own) ?? [];
  // The same name on two servers is common and harmless: the servers' ids distinguish them.
  const imitated = same.find(({ tool }) => tool !== name && !differsInForm(tool, name));
  if (imitated !== undefined) return [nameFinding("name_imitates", name, imitated)];
  if (same.length > 0) return [];
  const close = near.find(own);
  return close === null ? [] : [nameFinding("name_resembles", name, close)];
}

/** `read-file` and `readFile` are spellings; a difference beyond case and separators is imitation. */
function differsInForm(one: string, other: string): boolean {
  return plain(one) === plain(other);
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[-_./ ]/g, "");
}

function nameFinding(
  code: "name_imitates" | "name_resembles",
  name: string,
  { server, tool }: Neighbour,
): ToolFinding {
  const verb = code === "name_imitates" ? "looks like" : "is one letter off";
  return {
    code,
    severity: code === "name_imitates" ? "hard" : "soft",
    where: "/name",
    evidence: `${escapedName(name)} ${verb} ${escapedName(tool)} of server ${server}`,
  };
}

/** Letters that look like others can only be distinguished by their numbers. */
function escapedName(name: string): string {
  return visible(name, 80).replaceAll(
    /[^\u0020-\u007e]/gu,
    (letter) => `\\u{${(letter.codePointAt(0) ?? 0).toString(16)}}`,
  );
}

/** Positions of the texts that people and models read, in the schema too. */
const TEXT_FIELDS = /\/(?:description|title)$/;

/** A description that names another server's tools may want to change how they are used. Only the first one is reported. */
function referenceFindings(
  definition: JsonRecord,
  of: { readonly server: string; readonly own: OwnNames },
  neighbours: Neighbourhood,
): ToolFinding[] {
  for (const { text, where, isKey } of textsOf(definition)) {
    if (isKey || !TEXT_FIELDS.test(where)) continue;
    const named = foreignToolIn(text, of, neighbours);
    if (named !== null)
      return [
        {
          code: "cross_server_reference",
          severity: "soft",
          where,
          evidence: `the text names ${visible(named, 120)}`,
        },
      ];
  }
  return [];
}

/** A name that the server has, too, means its own tool: descriptions often mention the tools beside them. */
function foreignToolIn(
  text: string,
  { server, own }: { readonly server: string; readonly own: OwnNames },
  { bySkeleton }: Neighbourhood,
): string | null {
  for (const [, named] of text.matchAll(/\bmcp__([a-z0-9-]{1,24})__/g))
    if (named !== undefined && named !== server) return `mcp__${named}__…`;
  for (const [word] of text.matchAll(/[a-z0-9]{2,40}[_-][a-z0-9_-]{2,60}/g)) {
    if (own.has(word)) continue;
    const other = bySkeleton.get(skeleton(word))?.find(({ tool }) => tool === word);
    if (other !== undefined) return `${word} of server ${other.server}`;
  }
  return null;
}

/** Finds names that are one letter more, one fewer or one other than a given one. */
interface NearNames<T> {
  find(name: string): T | null;
}

/** Shorter names are near to each other by chance. */
const SHORTEST = 8;
/**
 * Names with the same half that are compared with one; a server that has more of them hides from a finding that is only
 * informative.
 */
const MAX_COMPARED = 500;

/**
 * One letter changes one half of a name and leaves the other as it is, so names are found by their
 * halves. Equal names are not near.
 */
export function nearNames<T>(entries: Iterable<readonly [name: string, value: T]>): NearNames<T> {
  const byHalf = new Map<string, [name: string, value: T][]>();
  for (const [name, value] of entries) {
    if (name.length < SHORTEST - 1) continue;
    // The halves of a name with one letter fewer, as many, or one more.
    for (const size of new Set([-1, 0, 1].map((more) => halfOf(name.length + more))))
      for (const key of keysOf(name, size)) {
        const sharing = byHalf.get(key);
        if (sharing === undefined) byHalf.set(key, [[name, value]]);
        else if (sharing.length < MAX_COMPARED) sharing.push([name, value]);
      }
  }
  return {
    find(name) {
      if (name.length < SHORTEST) return null;
      for (const key of keysOf(name, halfOf(name.length)))
        for (const [other, value] of byHalf.get(key) ?? []) if (isOneOff(name, other)) return value;
      return null;
    },
  };
}

function halfOf(length: number): number {
  return Math.floor((length - 1) / 2);
}

function keysOf(name: string, size: number): [string, string] {
  return [`<${name.slice(0, size)}`, `>${name.slice(name.length - size)}`];
}

/** True when inserting, deleting or replacing one letter turns one name into the other. */
export function isOneOff(one: string, other: string): boolean {
  const [short, long] = one.length <= other.length ? [one, other] : [other, one];
  if (one === other || long.length - short.length > 1) return false;
  let at = 0;
  while (at < short.length && short[at] === long[at]) at += 1;
  const rest = short.length === long.length ? short.slice(at + 1) : short.slice(at);
  return rest === long.slice(at + 1);
}

import type { ScanFinding } from "@switchyard/contracts/skill-scan";
import { HintFinder } from "../hint-finder.ts";
import { findingAt } from "../rule.ts";
import type { ScannedText } from "../scanned-text.ts";
import { isSpokenAbout } from "../spoken-about.ts";
import {
  PASTE_HOST_HINTS,
  firstHost,
  hostAround,
  isDropHost,
  isPublicAddress,
} from "./internet-places.ts";

/**
 * Known campaigns do not attack with code but with prose: a "prerequisite" that the user must fetch and run.
 * No sign of it is bad alone. Several kinds together, close to each other, are: something must be
 * delivered in a hidden way, and a person must run it.
 */
type Role = "delivery" | "execution" | "pressure";

interface Sign {
  readonly name: string;
  readonly role: Role;
  readonly weight: number;
  readonly hints: readonly string[];
  readonly pattern: RegExp;
  readonly accepts?: (match: string, text: ScannedText, offset: number) => boolean;
}

const SIGNS: readonly Sign[] = [
  {
    name: "an archive with a password",
    role: "delivery",
    weight: 2,
    hints: ["extract", "unzip", ".zip", ".rar", "unpack"],
    pattern:
      /(?:extract|unzip|\.zip|\.rar|unpack)[^\n]{0,120}?\bpass(?:word|code|phrase)?\*{0,2}\s{0,2}(?:is\b|[:=`"'“(])/iy,
  },
  {
    name: "an archive with a password",
    role: "delivery",
    weight: 2,
    hints: ["password", "pass: ", "passcode"],
    pattern:
      /(?:password|pass|passcode)\*{0,2}\s{0,2}(?:is\b|[:=`"'“(])[^\n.]{0,60}?\b(?:extract|unzip|unpack)\b/iy,
  },
  {
    name: "a paste site",
    role: "delivery",
    weight: 2,
    hints: PASTE_HOST_HINTS,
    pattern: /[a-z0-9.-]{4,40}\/\S{2,80}/iy,
    accepts: (_match, text, offset) => isDropHost(hostAround(text, offset)),
  },
  {
    name: "an encoded command",
    role: "delivery",
    weight: 3,
    hints: ["base64 -d", "base64 --decode"],
    pattern: /base64 (?:-d|--decode)\b[^\n|]{0,200}\|[ \t]{0,3}(?:ba|z)?sh\b/iy,
  },
  {
    name: "a download from a bare address",
    role: "delivery",
    weight: 2,
    hints: ["http://"],
    pattern: /http:\/\/\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\S{0,80}/iy,
    accepts: (match) => isPublicAddress(firstHost(match) ?? ""),
  },
  {
    name: "a shortened link",
    role: "delivery",
    weight: 1,
    hints: ["bit.ly/", "tinyurl.com/", "is.gd/", "cutt.ly/", "cutt.us/"],
    pattern: /[a-z.]{4,12}\/[\w-]{3,20}/iy,
  },
  {
    name: "a protection that is switched off",
    role: "delivery",
    weight: 2,
    hints: [
      "xattr -",
      "disable windows defender",
      "disable your antivirus",
      "disable antivirus",
      "turn off your antivirus",
    ],
    pattern: /(?:xattr -\w{1,3}[^\n]{0,40}|(?:disable|turn off) [\w ]{4,30})/iy,
  },
  {
    name: "a command to be run in the terminal",
    role: "execution",
    weight: 1,
    hints: ["execute ", "paste ", "copy ", "run "],
    pattern:
      /(?:execute|paste|copy|run)\b[^\n]{0,80}?\b(?:in(?:to)?|inside|from) (?:the |your |a )?(?:mac(?:os)? )?(?:terminal|powershell|command prompt|cmd)\b/iy,
  },
  {
    name: "a program to be run",
    role: "execution",
    weight: 1,
    hints: ["run ", "launch ", "execute ", "open "],
    pattern:
      /(?:run|launch|execute|open) (?:the |it |this |and run )?(?:extracted |downloaded |included )?(?:executable|installer|setup|\.exe|\S{1,40}\.(?:exe|dmg|pkg|msi|scr|bat))\b/iy,
  },
  {
    name: "a demand that nothing works without it",
    role: "pressure",
    weight: 1,
    hints: [
      "must be installed",
      "must be running",
      "requires the",
      "will not work without",
      "won't work without",
      "cannot function without",
      "required before",
      "to function",
    ],
    pattern: /[^\n]{8,60}/iy,
  },
];

const FINDER = new HintFinder(
  SIGNS.flatMap((sign) => sign.hints.map((hint) => [hint, sign] as const)),
);
const WINDOW_LINES = 40;
const BLOCK_WEIGHT = 4;
/** With one way of delivery only, all the rest must be there too. */
const BLOCK_WEIGHT_ALONE = 5;
/** Up to this a part is not worth a word. */
const MENTION_WEIGHT = 2;

interface Seen {
  readonly sign: Sign;
  readonly offset: number;
  readonly length: number;
  readonly line: number;
}

/** Blocks where deliveries and executions together weigh enough within one part of a Markdown file. */
export function socialPrerequisites(text: ScannedText): ScanFinding[] {
  if (text.kind !== "markdown") return [];
  const part = heaviestPart(signsIn(text));
  if (part === null) return [];
  const isBlocked = part.weight >= part.needed;
  const { offset, length } = part.from;
  return [
    findingAt(
      text,
      { start: offset, length },
      {
        code: "social_prerequisite",
        owasp: "AST01",
        severity: isBlocked ? "critical" : "medium",
        confidence: isBlocked ? "high" : "low",
        blocks: isBlocked,
        message: `asks a person to fetch and run something: ${part.names.join(", ")}`,
        advice: "run nothing that a skill's text asks for; get the program from its maker",
      },
    ),
  ];
}

interface Part {
  readonly from: Seen;
  readonly names: readonly string[];
  readonly weight: number;
  readonly needed: number;
}

/** The part of some lines whose different signs weigh the most; a window that moves over all of them once. */
function heaviestPart(seen: readonly Seen[]): Part | null {
  const inside = new Map<Sign["name"], { sign: Sign; count: number }>();
  let best: Part | null = null;
  let start = 0;
  for (const last of seen) {
    const known = inside.get(last.sign.name);
    if (known === undefined) inside.set(last.sign.name, { sign: last.sign, count: 1 });
    else known.count += 1;
    for (let first = seen[start]; first !== undefined; first = seen[start]) {
      if (last.line - first.line <= WINDOW_LINES) break;
      leave(inside, first.sign);
      start += 1;
    }
    // Only a sign that was not inside can make the part heavier.
    if (known !== undefined) continue;
    const signs = [...inside.values()].map(({ sign }) => sign);
    const weight = signs.reduce((total, sign) => total + sign.weight, 0);
    const deliveries = signs.filter(({ role }) => role === "delivery");
    const needed = deliveries.length > 1 ? BLOCK_WEIGHT : BLOCK_WEIGHT_ALONE;
    const isWhole = deliveries.length > 0 && signs.some(({ role }) => role === "execution");
    if (isWhole && weight > (best?.weight ?? MENTION_WEIGHT)) {
      best = { from: seen[start] ?? last, names: signs.map(({ name }) => name), weight, needed };
    }
  }
  return best;
}

function leave(inside: Map<string, { sign: Sign; count: number }>, sign: Sign): void {
  const known = inside.get(sign.name);
  if (known === undefined) return;
  known.count -= 1;
  if (known.count === 0) inside.delete(sign.name);
}

/** At most one of each sign a line: the rest would only cost time. */
function signsIn(text: ScannedText): Seen[] {
  const seen: Seen[] = [];
  const known = new Set<string>();
  FINDER.each(text.text, (sign, offset) => {
    sign.pattern.lastIndex = offset;
    const match = sign.pattern.exec(text.text);
    if (match === null || sign.accepts?.(match[0], text, offset) === false) return;
    const line = text.lineIndexAt(offset);
    const key = `${line} ${sign.name}`;
    if (known.has(key) || isSpokenAbout(text, offset)) return;
    known.add(key);
    seen.push({ sign, offset, length: match[0].length, line });
  });
  return seen;
}

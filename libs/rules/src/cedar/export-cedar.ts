import type { Bundle, Rule } from "../schema/bundle.ts";
import { toolPatternsOf } from "../schema/tool-selectors.ts";
import { conditionText, Inexpressible, likeText, quoted } from "./export-condition.ts";

/** A rule, or a part of one, that the Cedar policies do not say. */
export interface ExportNote {
  readonly rule: string;
  readonly reason: string;
}

export interface Exported {
  readonly text: string;
  readonly notes: readonly ExportNote[];
}

const HEAD = `// Rules of Switchyard as Cedar, for review. Cedar allows at most what the rules allow, for arguments of the types
// that the rules compare with: of another type, an argument makes a deny rule match, and Cedar skip the policy.
//
// principal  Switchyard::User::"ann"
// action     Switchyard::Action::"call"
// resource   Switchyard::Installation::"here"
// context    { user, agent, channel, group, server, tool: String, roles, labels: Set<String>, input: the arguments }
//            agent, channel and group are "" when there is none, server is "" for a built-in tool`;

/** Writes rules about tools as Cedar policies, with comments for what Cedar cannot say. */
export function exportCedar(bundle: Bundle): Exported {
  const policies = bundle.rules.map((rule) => policyOf(rule, bundle));
  const others = (["budgets", "layers", "owners", "results", "subAgents", "starters"] as const)
    .filter((section) => bundle[section] !== undefined)
    .map((section) => ({
      rule: section,
      reason: `the section ${section} narrows this further; it is not here`,
    }));
  const comments = others.map(({ reason }) => `// ${reason}\n`);
  return {
    text: [`${HEAD}\n`, ...comments, ...policies.map(({ text }) => text)].join("\n"),
    notes: [...others, ...policies.flatMap(({ notes }) => notes)],
  };
}

interface Policy {
  readonly text: string;
  readonly notes: readonly ExportNote[];
}

function policyOf(rule: Rule, bundle: Bundle): Policy {
  const isAllow = rule.effect === "allow";
  if (toolPatternsOf(rule.what)?.length === 0) {
    const reason = "it is about other things than tools";
    return { text: `// ${rule.id}: ${reason}\n`, notes: [{ rule: rule.id, reason }] };
  }
  const gaps: string[] = [];
  const parts = [
    ...partsOf(() => whoParts(rule), gaps),
    ...partsOf(() => whatParts(rule), gaps),
    ...(rule.when ?? []).flatMap((condition) =>
      partsOf(() => [conditionText(condition, rule.effect)], gaps),
    ),
  ];
  const comments = [
    ...(rule.note === undefined ? [] : [`// ${rule.note}`]),
    ...approvalComments(rule, bundle),
  ];
  const body = [
    `@id(${quoted(rule.id)})`,
    ...(isAllow && rule.approval !== undefined ? [`@approval(${quoted(rule.approval)})`] : []),
    `${isAllow ? "permit" : "forbid"} (principal, action == Switchyard::Action::"call", resource)`,
    parts.length === 0 ? ";" : `when {\n  ${parts.join(" &&\n  ")}\n};`,
  ];
  const notes = gaps.map((reason) => ({ rule: rule.id, reason }));
  if (gaps.length === 0) return { text: [...comments, ...body, ""].join("\n"), notes };
  // A permit without one of its conditions would allow more, so it is a comment; a forbid without one denies more.
  const shown = isAllow
    ? body
        .join("\n")
        .split("\n")
        .map((line) => `//   ${line}`)
    : body;
  const why = gaps.map((reason) => `// ${isAllow ? "Left out" : "Denies more"}: ${reason}`);
  return { text: [...comments, ...why, ...shown, ""].join("\n"), notes };
}

/** Parts of a policy; a reason is added to the gaps when Cedar cannot say them. */
function partsOf(write: () => readonly string[], gaps: string[]): readonly string[] {
  try {
    return write();
  } catch (error) {
    if (!(error instanceof Inexpressible)) throw error;
    gaps.push(error.message.replaceAll(/\s+/g, " "));
    return [];
  }
}

function approvalComments(rule: Rule, { defaults }: Bundle): string[] {
  if (rule.effect === "deny") return [];
  const tier = rule.approval ?? defaults?.approval ?? "that of the tool";
  const approval =
    tier === "auto"
      ? []
      : [`// After an approval (${tier}); Cedar has none, so this states what can be allowed.`];
  const approve =
    rule.approve === undefined ? [] : [`// Approved by: ${JSON.stringify(rule.approve)}`];
  const who = rule.who ?? {};
  const isOfRuns = [who.agents, who.roles, who.channels, who.groups].some(
    (list) => list !== undefined,
  );
  const replayed =
    isOfRuns && who.replayed !== true ? ["// Not for runs that play a recording."] : [];
  return [...approval, ...approve, ...replayed];
}

function anyOf(globs: readonly string[] | undefined, member: string): string[] {
  return globs === undefined ? [] : [eitherOf(globs.map((glob) => memberText(member, glob)))];
}

function whoParts({ who }: Rule): string[] {
  if (who?.roles?.some((role) => /[*?]/.test(role)) === true)
    throw new Inexpressible(`roles by a pattern (${who.roles.join(", ")})`);
  return [
    ...anyOf(who?.users, "user"),
    ...anyOf(who?.agents, "agent"),
    ...anyOf(who?.channels, "channel"),
    ...anyOf(who?.groups, "group"),
    ...(who?.roles === undefined ? [] : [`context.roles.containsAny(${setOf(who.roles)})`]),
  ];
}

/** Facts that a call may not have are empty texts, which a pattern of asterisks would match. */
function memberText(member: string, glob: string): string {
  if (/^\*+$/.test(glob)) return member === "user" ? "true" : `context.${member} != ""`;
  return likeText(`context.${member}`, glob);
}

function whatParts({ what }: Rule): string[] {
  const patterns = toolPatternsOf(what);
  const { any, not } = what?.labels ?? {};
  const tools = (patterns ?? []).map((pattern) => {
    switch (pattern.kind) {
      case "everything":
        return "true";
      case "bare":
        if (/[(]/.test(pattern.name))
          throw new Inexpressible(`the words of a command (${pattern.name})`);
        return `(context.server == "" && ${likeText("context.tool", pattern.name)})`;
      case "server":
        return `(${memberText("server", pattern.server)} && ${likeText("context.tool", pattern.tool)})`;
      default:
        return pattern satisfies never;
    }
  });
  return [
    ...(patterns === null || tools.includes("true") ? [] : [eitherOf(tools)]),
    ...(any === undefined ? [] : [`context.labels.containsAny(${setOf(any)})`]),
    ...(not === undefined ? [] : [`!context.labels.containsAny(${setOf(not)})`]),
  ];
}

function eitherOf(texts: readonly string[]): string {
  return texts.length === 1 ? (texts[0] ?? "true") : `(${texts.join(" || ")})`;
}

function setOf(texts: readonly string[]): string {
  return `[${texts.map(quoted).join(", ")}]`;
}

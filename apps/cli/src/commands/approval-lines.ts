import type { Approval, Presentation } from "@switchyard/contracts/policy/approval-record";
import { missingApprovals, votesText } from "@switchyard/contracts/policy/approval-words";
import type { CallContext } from "@switchyard/contracts/agent-runner/call-context";
import { fieldLines } from "../field-lines.ts";
import { printable, printableLine } from "../printable.ts";
import { count } from "../quantities.ts";
import { screenWidth } from "../table.ts";
import type { Terminal } from "../terminal.ts";

/** An approval as the policy service shows it. */
interface ShownApproval {
  readonly approval: Approval;
  readonly presentation: Presentation;
  /** The values behind masks, for an approver whom a rule allows to see them. */
  readonly unmasked?: readonly { readonly mask: string; readonly value: string }[] | undefined;
  readonly edited?: Presentation | undefined;
  readonly context?: CallContext | null | undefined;
}

/**
 * One approval in full: the call with its arguments, its principal, the reason, the run's earlier calls, and what is unusual about
 * it. `leftOut` names the fields that are not shown.
 */
export function approvalLines(
  { approval, presentation, edited, context, unmasked = [] }: ShownApproval,
  paint: Terminal["paintOut"],
  leftOut: readonly string[] = [],
): string[] {
  const { id, state, tier, risk, tool, why, rule, expiresAt, decision, pin, policyDigest } =
    approval;
  return [
    `${paint("bold", tool.name)}  ${paint(COLOURS[state], stateText(approval))}`,
    ...fieldLines(
      (
        [
          ["id", id],
          ["who", actorText(approval)],
          ["tier", tier],
          ["risk", risk],
          ["why", `${why}${rule === null ? "" : ` (rule ${rule})`}`],
          ...votingFields(approval),
          ["until", state === "pending" || state === "approved" ? expiresAt : ""],
          ["decided", decision === null ? "" : decisionText(decision)],
          ["pin", pin ?? ""],
          ["policy", policyDigest],
        ] satisfies [string, string][]
      ).filter(([name]) => !leftOut.includes(name)),
      screenWidth() - 2,
    ).map((line) => `  ${line}`),
    "  arguments",
    ...quoted(indented(presentation.args)),
    ...unmasked.map(({ mask, value }) => `  ${mask} is ${printableLine(value)}`),
    ...(edited === undefined
      ? []
      : [
          `  changed by ${approval.edit?.by ?? "the approver"} to`,
          ...quoted(indented(edited.args)),
        ]),
    ...warnings(presentation).map((line) => `  ${paint("yellow", `! ${line}`)}`),
    ...changeLines(presentation, paint),
    ...contextLines(context ?? null),
  ];
}

/** The people who have approved a call that several have to approve, and those who are missing. */
function votingFields(approval: Approval): [name: string, value: string][] {
  const { requirements, votes, reasonFor, state } = approval;
  const votesAre = votes.map(({ by, standsFor, scope, reason }) => {
    const whom = standsFor === null ? by : `${by} for ${standsFor}`;
    return `${whom} (${scope})${reason === null ? "" : `: ${reason}`}`;
  });
  if (requirements.length === 0) return [];
  const isPending = state === "pending";
  return [
    ["approved", [votesText(approval), ...votesAre].join(", ")],
    ["missing", isPending ? missingApprovals(approval).join("; ") : ""],
    ["reason", isPending && reasonFor.length > 0 ? `required for ${reasonFor.join(" and ")}` : ""],
  ];
}

/** One sentence after an approval that needs more people; null when the call may happen. */
export function stillMissing(approval: Approval): string | null {
  if (approval.state !== "pending") return null;
  return printableLine(
    `approved, ${votesText(approval)}; the call still waits for ${missingApprovals(approval).join("; ")}`,
    500,
  );
}

/** The prompt for a reason; null where an approval needs none. */
export function reasonPrompt(
  { reasonFor }: Pick<Approval, "reasonFor">,
  kind: "approvals" | "denials",
): string | null {
  if (reasonFor.includes(kind)) return "  Reason (the rules require one): ";
  return kind === "denials" ? "  Reason for the agent (may be empty): " : null;
}

/** Prints the input of the run and its calls before this one. The texts come from a model and from tools: their claims are not checked. */
function contextLines(context: CallContext | null): string[] {
  if (context === null) return [];
  const { input, modelText, calls, earlierCalls } = context;
  return [
    "  the run works on",
    ...quoted(input),
    ...(modelText === "" ? [] : ["  its model wrote last", ...quoted(modelText)]),
    ...(calls.length === 0 ? [] : ["  calls before this one"]),
    ...(earlierCalls === 0 ? [] : [`  │ (${earlierCalls} earlier)`]),
    ...calls.map(({ tool, argsPreview, outcome, preview }) =>
      printableLine(
        `  │ ${tool} ${argsPreview} → ${outcome}${preview === "" ? "" : `: ${preview}`}`,
        300,
      ),
    ),
  ];
}

function quoted(text: string): string[] {
  return printable(text)
    .split("\n")
    .map((line) => `  │ ${line}`);
}

/** The command that shows how each rule decides about a call with these arguments. */
export function explainCommand({ tool, principal: { agent, user } }: Approval): string {
  const whose = agent === null ? `--user ${user}` : `--user ${user} --agent ${agent}`;
  return printableLine(`./yard policy explain ${tool.name} ARGUMENTS ${whose}`);
}

const SHOWN_VALUE = 40;

/** `path=notes.md content=A long…`: each argument with the beginning of its value, short ones first, so that a text hides no path. */
export function argumentsText(args: string): string {
  let given: unknown;
  try {
    given = JSON.parse(args);
  } catch {
    return printableLine(args, 200);
  }
  if (typeof given !== "object" || given === null) return printableLine(args, 200);
  return Object.entries(given)
    .map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`)
    .toSorted((a, b) => a.length - b.length)
    .map((text) => printableLine(text, SHOWN_VALUE))
    .join(" ");
}

/** One line for a list or a log. */
export function approvalLine(approval: Approval): string {
  const { id, tool, tier, risk } = approval;
  return printableLine(
    `${id}  ${stateText(approval)}  ${tier}  ${risk} risk  ${tool.name}  ${actorText(approval)}`,
    500,
  );
}

export function actorText({
  principal: { agent, user, runId, context },
}: Pick<Approval, "principal">): string {
  if (agent === null) return `user ${user}`;
  const by = context?.dictatedBy;
  const dictated = by === undefined ? "" : `, its calls written by ${by}`;
  const played = context?.replayed === true ? " (replayed)" : "";
  return `agent ${agent} in run ${runId ?? "?"}${played}, started by ${user}${dictated}`;
}

type ShownState = Pick<Approval, "state" | "execution" | "requirements" | "votes" | "needed">;

/** Such as `pending, 1 of 2`. A consumed approval without a reported outcome may have been executed; the text states that. */
export function stateText(approval: ShownState): string {
  const { state, execution, requirements } = approval;
  if (state === "pending" && requirements.length > 0) return `${state}, ${votesText(approval)}`;
  if (state !== "consumed") return state;
  return execution === "executed" ? "executed" : "consumed, outcome unknown";
}

const COLOURS = {
  pending: "yellow",
  approved: "green",
  consumed: "green",
  denied: "red",
  expired: "dim",
  cancelled: "dim",
} as const;

function decisionText({ by, authenticated, scope, reason, at }: NonNullable<Approval["decision"]>) {
  const what = scope === null ? "" : `, ${scope}`;
  return `${at} by ${by} (${authenticated})${what}${reason === null ? "" : `: ${reason}`}`;
}

/** Canonical JSON is one line; escapes such as \u{200b} make it no JSON, and then it stays one. */
function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function warnings({
  isCut,
  argsBytes,
  hasHiddenCharacters,
  hasRedactions,
}: Presentation): string[] {
  return [
    ...(isCut
      ? [`only a part of the arguments is shown; they have ${count(argsBytes, "byte")}`]
      : []),
    ...(hasHiddenCharacters ? ["characters that cannot be seen are written as \\u{…}"] : []),
    ...(hasRedactions ? ["of credentials only length and digest are shown"] : []),
  ];
}

function changeLines({ changes }: Presentation, paint: Terminal["paintOut"]): string[] {
  if (changes === null) return ["  no earlier call of this tool was approved"];
  if (changes.length === 0) return ["  the same arguments as in the last approved call"];
  return [
    "  changed since the last approved call",
    ...changes.flatMap(({ pointer, before, after }) => [
      `    ${printableLine(pointer, 200)}`,
      ...(before === null ? [] : [paint("red", `      - ${printableLine(before, 500)}`)]),
      ...(after === null ? [] : [paint("green", `      + ${printableLine(after, 500)}`)]),
    ]),
  ];
}

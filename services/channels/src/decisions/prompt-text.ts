import type { Approval, Presentation } from "@switchyard/contracts/policy/approval-record";
import { cutForReader, cutText } from "@switchyard/contracts/cut-text";
import { LINE_BREAK } from "@switchyard/contracts/channels/group-message";
import { visible } from "@switchyard/service/visible-text";

/** A waiting call in words. Everything that a model or a server wrote is behind `argumentsAt`. */
export interface PromptText {
  readonly text: string;
  readonly argumentsAt: number;
}

const MAX_NAME = 200;
const MAX_WHY = 300;
/** Room for the line about the decision, which is put before the text later. */
const END_ROOM = 300;

/**
 * Describes a waiting call for a chat, in at most `maxLength` UTF-16 units less the room for its end. The arguments are the end of the
 * text; when they do not fit, the text states so, with the digest of all of them and where they can be read.
 */
export function promptText(
  { approval, presentation }: { readonly approval: Approval; readonly presentation: Presentation },
  { maxLength, consoleUrl }: { readonly maxLength: number; readonly consoleUrl: string | null },
): PromptText {
  const { principal, tool, risk, why, expiresAt, id, argsDigest, caller } = approval;
  const { argsBytes, hasHiddenCharacters, hasRedactions } = presentation;
  const args = withoutFences(presentation.args);
  const agent =
    principal.agent === null ? `${shown(caller)}, by hand` : `agent ${shown(principal.agent)}`;
  const lines = [
    `Approval needed: ${titleOf(approval)}`,
    `From: ${agent}, for ${shown(principal.user)}`,
    ...(tool.server === null ? [] : [`Server: ${shown(tool.server)}`]),
    `Risk: ${risk}`,
    `Why: ${cutForReader(oneLine(why), MAX_WHY)}`,
    `Until: ${timeText(expiresAt)}`,
    ...(hasHiddenCharacters ? ["Careful: invisible characters are shown as \\u{…}"] : []),
    ...(hasRedactions ? ["Values with the form of a credential are not shown"] : []),
  ];
  const where =
    consoleUrl === null ? `yard approvals show ${id}` : `${consoleUrl}/approvals?id=${id}`;
  const whole = `Arguments, ${argsBytes} bytes:\n`;
  const cut = `The arguments are cut. All ${argsBytes} bytes, ${argsDigest}: ${where}\nThe beginning of the arguments:\n`;
  const room = maxLength - END_ROOM - lines.join("\n").length - 1;
  const isWhole = !presentation.isCut && args.length <= room - whole.length;
  const before = `${lines.join("\n")}\n${isWhole ? whole : cut}`;
  const rest = isWhole ? args : cutText(args, Math.max(0, room - cut.length));
  return { text: before + visible(rest), argumentsAt: before.length };
}

/** Names the call in one line. */
export function titleOf({ tool }: Pick<Approval, "tool">): string {
  return shown(tool.name);
}

/** Describes what became of a call; null while it waits. */
export function endText({ state, decision }: Approval): string | null {
  if (state === "pending") return null;
  if (decision === null) return "Expired: no decision in time";
  const { by, via, at, reason } = decision;
  const through = via === undefined ? "" : ` by ${via}`;
  const who = by === "policy" ? "" : ` by ${shown(by)}${through}`;
  const why = reason === null ? "" : `: ${cutForReader(oneLine(reason), 150)}`;
  if (state === "denied") return `Denied${who}, ${timeText(at)}${why}`;
  if (state === "cancelled") return `Cancelled${who}, ${timeText(at)}${why}`;
  const late = state === "expired" ? "; the call was not made in time" : "";
  return `Approved${who}, ${timeText(at)}${late}`;
}

function timeText(timestamp: string): string {
  return `${cutText(timestamp, 16).replace("T", " ")} UTC`;
}

function shown(name: string): string {
  return cutForReader(oneLine(name), MAX_NAME);
}

/** Three of these characters end a code block, in which some chats show the arguments. */
function withoutFences(text: string): string {
  return text.replaceAll("```", String.raw`\u{60}\u{60}\u{60}`);
}

function oneLine(text: string): string {
  return visible(text.split(LINE_BREAK).join(" ").replaceAll("\t", " "));
}

import type { Approval, Presentation } from "@switchyard/contracts/policy/approval-record";
import type { ChatQuestion, QuestionEnd } from "@switchyard/contracts/policy/chat-questions";
import { cutForReader, cutText } from "@switchyard/contracts/cut-text";
import type { QuestionForm } from "./question-form.ts";
import { visible } from "@switchyard/service/visible-text";
import { oneLine } from "./one-line.ts";

/** A waiting call in words. Everything that a model or a server wrote is behind `argumentsAt`. */
export interface PromptText {
  readonly text: string;
  readonly argumentsAt: number;
}

const MAX_NAME = 200;
const MAX_WHY = 300;
/** Room for the line about the decision, which is put before the text later. */
const END_ROOM = 300;
/** The part of the room for arguments that a change of texts may take. */
const CHANGES_SHARE = 0.6;
const CUT_QUESTION = "\n… the question is cut";
const CUT_MARK = "\n… the change is cut";

/**
 * Describes a waiting call for a chat, in at most `maxLength` UTF-16 units less the room for its end. The arguments are the end of the
 * text; when they do not fit, the text states so, with the digest of all of them and where they can be read.
 */
export function promptText(
  {
    approval,
    presentation,
    changes,
  }: {
    readonly approval: Approval;
    readonly presentation: Presentation;
    readonly changes?: string | undefined;
  },
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
  const header = `${lines.join("\n")}\n`;
  const room = maxLength - END_ROOM - header.length - 1;
  const change = changes === undefined ? "" : changePart(changes, Math.floor(room * CHANGES_SHARE));
  const left = room - change.length;
  const whole = `Arguments, ${argsBytes} bytes:\n`;
  const cut = `The arguments are cut. All ${argsBytes} bytes, ${argsDigest}: ${where}\nThe beginning of the arguments:\n`;
  const isWhole = !presentation.isCut && args.length <= left - whole.length;
  // A model wrote all that follows; each line of a change has a mark, so that none can pose as another part.
  const before = `${header}${isWhole ? whole : cut}`;
  const rest = isWhole ? args : cutText(args, Math.max(0, left - cut.length));
  return { text: before + visible(rest) + change, argumentsAt: before.length };
}

/** A change that does not fit is cut at the end of a line. */
function changePart(changes: string, room: number): string {
  const title = "\n\nWhat changes:\n";
  const text = withoutFences(changes);
  if (text.length <= room - title.length) return title + text;
  const kept = cutText(text, Math.max(0, room - title.length - CUT_MARK.length));
  const end = kept.lastIndexOf("\n");
  return end < 0 ? "" : title + cutText(kept, end) + CUT_MARK;
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

/** A question in words. Everything that a model or a server wrote is behind `argumentsAt`. */
export function questionText(
  { run, server, user, until }: ChatQuestion,
  { list, how }: { readonly list: readonly string[]; readonly how: string },
  maxLength: number,
): PromptText {
  const from =
    run === undefined ? `MCP server ${shown(server?.server ?? "")}` : `agent ${shown(run.agent)}`;
  const lines = [
    `Question: ${from} asks`,
    `For: ${shown(user)}`,
    `Until: ${timeText(until)}`,
    how,
    "",
  ];
  const before = lines.join("\n");
  const words = [
    run?.question ?? server?.message ?? "",
    ...(server?.url === null || server === undefined ? [] : [`Address: ${server.url}`]),
    ...list,
  ];
  const all = visible(withoutFences(words.join("\n").replaceAll("\r", "")));
  const room = maxLength - END_ROOM - before.length - 1;
  const rest = all.length <= room ? all : cutText(all, room - CUT_QUESTION.length) + CUT_QUESTION;
  return { text: before + rest, argumentsAt: before.length };
}

/** Describes how a question can be answered, from the message itself or elsewhere. */
export function howToAnswer({
  ref,
  choices,
  textAs,
  hasLink,
  consoleUrl,
}: Pick<QuestionForm, "choices" | "textAs"> & {
  readonly ref: ChatQuestion["ref"];
  readonly hasLink: boolean;
  readonly consoleUrl: string | null;
}): string {
  if (hasLink && (choices.length > 0 || textAs !== null)) return "Answer on the page above.";
  const number = textAs?.type === "number" ? " with a number" : "";
  const ways = [
    ...(choices.length > 0 ? ["press a button"] : []),
    ...(textAs === null || hasLink ? [] : [`reply to this message${number}`]),
  ];
  const command = "runId" in ref ? "yard runs answer" : "yard mcp questions answer";
  const where = consoleUrl === null ? command : `${consoleUrl}/approvals`;
  if (textAs === null && !choices.some(({ reply }) => reply.action !== "decline"))
    ways.push(`answer with ${where}`);
  return `To answer: ${ways.join(", or ")}`;
}

/** Describes what became of a question. */
export function questionEndText({ outcome, by }: QuestionEnd): string {
  const who = by === null ? "" : ` by ${shown(by)}`;
  switch (outcome) {
    case "answered":
      return `Answered${who}`;
    case "declined":
      return `Declined${who}`;
    case "expired":
      return "Expired: no answer in time";
    default:
      return "Not asked any more";
  }
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

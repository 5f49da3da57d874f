import { createHash, timingSafeEqual } from "node:crypto";
import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { decideInChat } from "@switchyard/contracts/policy/chat-links";
import { cutForReader } from "@switchyard/contracts/cut-text";
import { isError, isStandardCode, ServiceError } from "@switchyard/contracts/errors";
import type { Log } from "@switchyard/service/log";
import type { Account } from "../accounts/accounts.ts";
import type { ButtonPress, PressAnswer } from "../adapters/adapter.ts";
import type { Prompt, PromptStore } from "./prompt-store.ts";
import { endText } from "./prompt-text.ts";

export interface PressParts {
  readonly bus: Bus;
  readonly store: Pick<PromptStore, "read" | "write" | "isConfirmed" | "hurry">;
  readonly log: Log;
  /** Changes the messages about an approval that has ended. */
  readonly look: () => void;
}

/** The least that a provider shows to a person, in UTF-16 units. */
const MAX_ANSWER = 200;
const DATA = /^yd:([0-9a-f]{32}):([\w-]{11})$/;

/** Returns the data of a button: at most 64 bytes. */
export function buttonData(promptId: string, code: string): string {
  return `yd:${promptId}:${code}`;
}

/**
 * Decides as the person who pressed. A press counts only with the secret of its button, in the conversation of its message, and in private from
 * its person; the policy service checks all else. Rejects when the store does not answer.
 */
export async function pressButton(
  parts: PressParts,
  account: Account,
  press: ButtonPress,
): Promise<PressAnswer> {
  const { store, log } = parts;
  const [, promptId = "", code = ""] = DATA.exec(press.data) ?? [];
  const prompt = promptId === "" ? null : await store.read(promptId);
  const verdict = prompt === null ? null : verdictOf(prompt, code);
  if (prompt === null || verdict === null || !isPlaceOf(prompt, account, press)) {
    log.warn({ account: account.name, personId: press.personId }, "press of an unknown button");
    return alert("Nothing was decided: this button is unknown here, or too old.");
  }
  if (prompt.personId !== null && prompt.personId !== press.personId) {
    log.warn({ promptId, personId: press.personId }, "press of another person's button");
    return alert("Nothing was decided: these buttons are for another person.");
  }
  if (prompt.messageId === null) await store.write({ ...prompt, messageId: press.messageId });
  if (verdict === "approve" && prompt.risk === "high") {
    const isConfirmed = await store.isConfirmed(promptId, press.personId, press.pressId);
    if (!isConfirmed)
      return alert(`High risk: press Approve again within a minute to approve ${prompt.title}.`);
  }
  const answer = await decide(parts, account, { prompt, verdict, personId: press.personId });
  await store.hurry(prompt.approvalId);
  parts.look();
  return answer;
}

async function decide(
  { bus, log }: PressParts,
  { settings: { channel, accountId } }: Account,
  {
    prompt: { approvalId: id, binding },
    verdict,
    personId,
  }: {
    readonly prompt: Prompt;
    readonly verdict: "approve" | "deny";
    readonly personId: string;
  },
): Promise<PressAnswer> {
  const identity = { channel, accountId, personId };
  try {
    const { approval } = await call(bus, decideInChat, { identity, id, binding, verdict });
    return { text: endText(approval) ?? "Your vote counts; more are needed.", isAlert: false };
  } catch (error) {
    log.info({ err: error, approvalId: id, personId }, "press without a decision");
    return alert(refusalText(error));
  }
}

function refusalText(error: unknown): string {
  if (isError(error, decideInChat, "already_ended"))
    return `Nothing was decided: the call is ${error.data.state} already.`;
  if (isError(error, decideInChat, "not_linked"))
    return "Nothing was decided: link this account first, with the code of: yard channels link";
  if (isError(error, decideInChat, "forbidden_approver"))
    return `Nothing was decided: ${error.data.caller} may not decide about this call (${error.data.setting}).`;
  if (isError(error, decideInChat, "binding_mismatch"))
    return "Nothing was decided: the call is another one than the message shows.";
  if (isError(error, decideInChat, "unknown_approval"))
    return "Nothing was decided: there is no such approval for you.";
  if (error instanceof ServiceError && error.code === "timeout")
    return "No answer yet. The message shows the decision if it counted; press again if not.";
  if (error instanceof ServiceError && !isStandardCode(error.code))
    return cutForReader(`Nothing was decided: ${error.message}`, MAX_ANSWER);
  return "Nothing was decided: the policy service does not answer. Press again later.";
}

function verdictOf({ codes }: Prompt, code: string): "approve" | "deny" | null {
  if (isSame(code, codes.approve)) return "approve";
  return isSame(code, codes.deny) ? "deny" : null;
}

/** A press under a forwarded or copied message comes from another conversation. */
function isPlaceOf(
  { address }: Prompt,
  { settings }: Account,
  { target }: Pick<ButtonPress, "target">,
): boolean {
  return (
    address.channel === settings.channel &&
    address.accountId === settings.accountId &&
    (address.target.kind === "user") === (target.kind === "user") &&
    address.target.id === target.id
  );
}

/** Compares in a time that does not depend on where the texts differ. */
export function isSame(given: string, expected: string): boolean {
  const digests = [given, expected].map((text) => createHash("sha256").update(text).digest());
  const [a, b] = digests;
  return a !== undefined && b !== undefined && timingSafeEqual(a, b);
}

function alert(text: string): PressAnswer {
  return { text, isAlert: true };
}

import type { Attachment, ParsedMail } from "mailparser";
import { ProviderId } from "@switchyard/contracts/channels/channel-address";
import type { IncomingMessage } from "../adapter.ts";
import { problemOfProof, senderOf } from "./mail-sender.ts";

export type ReadMail =
  | { readonly message: IncomingMessage }
  /** The reason why it is no message for an agent. */
  | { readonly ignored: string };

/** Converts a mail into a message for an agent. Automatic mail would be answered in a loop and is left out, like forged mail. */
export function emailMessage(
  mail: ParsedMail,
  {
    ownAddress,
    authservId,
    uidKey,
  }: { ownAddress: string; authservId: string | undefined; uidKey: string },
): ReadMail {
  const sender = senderOf(mail.headerLines);
  if (sender === null || !isProviderId(sender.address))
    return { ignored: "From is not exactly one address" };
  const { address, domain } = sender;
  if (address === ownAddress.toLowerCase()) return { ignored: "it is our own" };
  if (isAutomatic(mail, address)) return { ignored: "it is automatic" };
  const problem =
    authservId === undefined ? null : problemOfProof(mail.headerLines, { authservId, domain });
  if (problem !== null) return { ignored: `not authenticated: ${problem}` };
  const name = nameOf(mail);
  const messageId = [mail.messageId].find(isProviderId) ?? `<${uidKey}@without-message-id>`;
  const inReplyTo = [mail.inReplyTo].find(isProviderId);
  const first = [...[mail.references ?? []].flat(), inReplyTo].find(isProviderId);
  const body = withoutQuotes(mail.text ?? "");
  const message = {
    target: { kind: "user", id: address },
    threadId: first ?? messageId,
    messageId,
    // A sender chooses any Message-ID, so a mail repeats only mail of its own sender.
    dedupeKey: JSON.stringify([address, messageId]),
    sender: { id: address, ...(name !== "" && { name }) },
    // The subject states the topic of a conversation; in later mails it only repeats itself.
    text: first === undefined && mail.subject ? `${mail.subject}\n\n${body}` : body,
    attachments: filesOf(mail).map((file, index) =>
      attachmentOf(file, JSON.stringify([uidKey, index])),
    ),
    ...(inReplyTo !== undefined && { replyToMessageId: inReplyTo }),
    mentionsAccount: true,
    writtenAt: mail.date ?? new Date(),
  } satisfies IncomingMessage;
  return { message };
}

/** Beside the one address; a header that is read in another way than ours has no name. */
function nameOf({ from }: ParsedMail): string {
  const [only, ...more] = from?.value ?? [];
  return more.length === 0 ? (only?.name ?? "") : "";
}

function isProviderId(id: string | undefined): id is string {
  return ProviderId.safeParse(id).success;
}

/** The files that were attached on purpose, and not as a part of the mail's text. */
export function filesOf(mail: ParsedMail): Attachment[] {
  return mail.attachments.filter((file) => !file.related);
}

function attachmentOf({ filename: name, contentType: mimeType, size }: Attachment, source: string) {
  return { ...(name === undefined ? {} : { name }), mimeType, sizeBytes: size, source };
}

/** RFC 3834, and the headers that lists and older programs write instead. */
function isAutomatic(mail: ParsedMail, sender: string): boolean {
  const submitted = header(mail, "auto-submitted");
  if (submitted !== "" && !submitted.startsWith("no")) return true;
  if (/^(bulk|junk|list|auto_reply)/.test(header(mail, "precedence"))) return true;
  if (mail.headers.has("list") || mail.headers.has("list-id") || mail.headers.has("x-autoreply"))
    return true;
  if (header(mail, "return-path") === "<>") return true;
  return /^(mailer-daemon|postmaster|no-?reply|do-?not-?reply)[@+]/.test(sender);
}

function header(mail: ParsedMail, name: string): string {
  const line = mail.headerLines.find(({ key }) => key === name)?.line ?? "";
  return line
    .slice(line.indexOf(":") + 1)
    .trim()
    .toLowerCase();
}

/** Removes the quoted mail at the end, and the line that announces it. */
function withoutQuotes(text: string): string {
  const lines = text.trimEnd().split(/\r?\n/);
  let end = lines.length;
  while (end > 0 && (lines[end - 1]?.startsWith(">") === true || lines[end - 1]?.trim() === ""))
    end--;
  const hasQuote = lines.slice(end).some((line) => line.startsWith(">"));
  if (!hasQuote || end === 0) return text.trim();
  if (lines[end - 1]?.trimEnd().endsWith(":") === true) end--;
  const kept = lines.slice(0, end).join("\n").trim();
  return kept === "" ? text.trim() : kept;
}

import type { Attachment, ParsedMail } from "mailparser";
import type { IncomingMessage } from "../adapter.ts";

/** What of a mail is a message for an agent: null for automatic mail, which would be answered for ever, and for forged one. */
export function emailMessage(
  mail: ParsedMail,
  {
    ownAddress,
    authservId,
    uidKey,
  }: { ownAddress: string; authservId: string | undefined; uidKey: string },
): IncomingMessage | null {
  const from = mail.from?.value[0];
  const sender = from?.address?.toLowerCase();
  if (sender === undefined || sender === ownAddress.toLowerCase() || isAutomatic(mail, sender))
    return null;
  if (authservId !== undefined && !isGenuine(mail, authservId)) return null;
  const messageId = mail.messageId ?? `<${uidKey}@without-message-id>`;
  const references = [mail.references ?? []].flat();
  const first = references[0] ?? mail.inReplyTo;
  const body = withoutQuotes(mail.text ?? "");
  return {
    target: { kind: "user", id: sender },
    threadId: first ?? messageId,
    messageId,
    dedupeKey: messageId,
    sender: { id: sender, ...(from?.name && { name: from.name }) },
    // The subject says what a conversation is about; later it only repeats itself.
    text: first === undefined && mail.subject ? `${mail.subject}\n\n${body}` : body,
    attachments: mail.attachments.filter((file) => !file.related).map(attachmentOf),
    ...(mail.inReplyTo !== undefined && { replyToMessageId: mail.inReplyTo }),
    mentionsAccount: true,
    writtenAt: mail.date ?? new Date(),
  };
}

function attachmentOf(file: Attachment) {
  const { filename, contentType: mimeType, size: sizeBytes } = file;
  return filename === undefined ? { mimeType, sizeBytes } : { name: filename, mimeType, sizeBytes };
}

/** RFC 3834, and what lists and older programs write instead. */
function isAutomatic(mail: ParsedMail, sender: string): boolean {
  const submitted = header(mail, "auto-submitted");
  if (submitted !== "" && !submitted.startsWith("no")) return true;
  if (/^(bulk|junk|list|auto_reply)/.test(header(mail, "precedence"))) return true;
  if (mail.headers.has("list") || mail.headers.has("list-id") || mail.headers.has("x-autoreply"))
    return true;
  if (header(mail, "return-path") === "<>") return true;
  return /^(mailer-daemon|postmaster|no-?reply|do-?not-?reply)[@+]/.test(sender);
}

/** The topmost result is of the server that received the mail; those below it may have been written by the sender. */
function isGenuine(mail: ParsedMail, authservId: string): boolean {
  const line = mail.headerLines.find(({ key }) => key === "authentication-results")?.line ?? "";
  const [name = "", ...results] = line.slice(line.indexOf(":") + 1).split(";");
  return (
    name.trim().split(/\s/)[0]?.toLowerCase() === authservId.toLowerCase() &&
    results.some((result) => /^dmarc\s*=\s*pass\b/i.test(result.trim()))
  );
}

function header(mail: ParsedMail, name: string): string {
  const line = mail.headerLines.find(({ key }) => key === name)?.line ?? "";
  return line
    .slice(line.indexOf(":") + 1)
    .trim()
    .toLowerCase();
}

/** Without the quoted mail at the end, and the line that announces it. */
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

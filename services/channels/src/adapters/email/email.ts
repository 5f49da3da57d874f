import { createHash } from "node:crypto";
import type { Capabilities } from "@switchyard/contracts/channels/channel-address";
import { cutForReader } from "@switchyard/contracts/cut-text";
import {
  type AdapterDefinition,
  type AdapterKit,
  type ChannelAdapter,
  ChannelError,
  type OutgoingMessage,
} from "../adapter.ts";
import { keepConnected } from "../keep-connected.ts";
import { EmailConfig } from "./email-config.ts";
import { loadMailFile, mailboxProblem, openMailbox } from "./email-inbound.ts";
import { withSmtp } from "./smtp.ts";

const MAX_SUBJECTS = 1_000;

const capabilities: Capabilities = {
  actions: ["send", "reply", "thread", "resolve", "attachments"],
  maxTextLength: 100_000,
  media: { kinds: ["image", "audio", "video", "file"], maxBytes: 10_000_000 },
  effects: [],
  threads: "reply",
  reactions: "none",
  idempotentSend: false,
};

/** A mailbox: SMTP out, IMAP in. */
export const email: AdapterDefinition<EmailConfig> = {
  name: "email",
  config: EmailConfig,
  // Sign-ins send passwords encoded in base64, which is secret too.
  secrets: ({ smtp, imap }) =>
    [smtp, imap].flatMap((server) =>
      server === undefined
        ? []
        : [
            server.password,
            Buffer.from(server.password).toString("base64"),
            plainSignIn(server.user, server.password),
          ],
    ),
  create,
};

function create(config: EmailConfig, kit: AdapterKit): ChannelAdapter {
  const { imap } = config;
  const subjects = new Map<string, string>();
  let done: Promise<void> | undefined;

  function remember(
    { sender, threadId }: { readonly sender: string; readonly threadId: string },
    subject: string,
  ): void {
    const key = subjectKey(sender, threadId);
    subjects.delete(key);
    subjects.set(key, subject);
    const [oldest] = subjects.keys();
    if (subjects.size > MAX_SUBJECTS && oldest !== undefined) subjects.delete(oldest);
  }

  function subjectOf({ address, text }: OutgoingMessage): string {
    if (address.threadId === undefined)
      return cutForReader(text.trim().split("\n")[0] ?? "", 100) || "Message";
    const subject = subjects.get(subjectKey(address.target.id, address.threadId)) ?? "your message";
    return /^re:/i.test(subject) ? subject : `Re: ${subject}`;
  }

  return {
    capabilities,
    // Without `authservId` any person could link another one's address.
    hasDecisionLinks: imap !== undefined && config.authservId !== undefined,

    ...(imap !== undefined && {
      async start(sink, signal) {
        const connect = () =>
          openMailbox(kit, { ...config, imap }, { sink, signal, onSubject: remember });
        const connection = await keepConnected({
          connect,
          problem: mailboxProblem,
          sink,
          signal,
        }).catch((error: unknown) => {
          throw new ChannelError("provider_error", mailboxProblem(error).text);
        });
        done = connection.done;
      },
      load: (source, limits) => loadMailFile(imap, source, limits),
    }),

    async send(message, call) {
      const { address, text, attachments, replyToMessageId } = message;
      const messageId = messageIdOf(kit.accountId, call.idempotencyKey, config.address);
      const references = [address.threadId, replyToMessageId].filter((id) => id !== undefined);
      await withSmtp({ smtp: config.smtp, signal: call.signal }, (smtp) =>
        smtp.sendMail({
          from: { name: config.name ?? "", address: config.address },
          to: { name: "", address: addressOf(address.target.id) },
          subject: subjectOf(message),
          text,
          messageId,
          ...(references.length > 0 && {
            inReplyTo: references.at(-1),
            references: [...new Set(references)],
          }),
          // Prevents automatic answers of other programs (RFC 3834).
          headers: { "Auto-Submitted": references.length > 0 ? "auto-replied" : "auto-generated" },
          attachments: attachments.map((file) => ({
            filename: file.name,
            contentType: file.mimeType,
            content: Buffer.from(file.bytes.buffer, file.bytes.byteOffset, file.bytes.byteLength),
          })),
        }),
      );
      return { messageIds: [messageId], sentAt: new Date() };
    },

    async resolve({ text }) {
      return { target: { kind: "user", id: addressOf(text.replace(/^mailto:/i, "")) } };
    },

    async check(call) {
      await withSmtp({ smtp: config.smtp, signal: call.signal }, (smtp) => smtp.verify());
      return { identity: config.address };
    },

    async close() {
      await done;
    },
  };
}

/** The key contains sender and thread, because anyone can name the messages of another's thread. */
function subjectKey(sender: string, threadId: string): string {
  return `${sender} ${threadId}`;
}

/** The id is the same for each attempt at one mail, so programs that compare ids detect a mail that arrives twice. */
function messageIdOf(accountId: string, key: string, address: string): string {
  const digest = createHash("sha256").update(`${accountId}\n${key}`).digest("hex").slice(0, 32);
  return `<${digest}@${address.slice(address.lastIndexOf("@") + 1)}>`;
}

function addressOf(text: string): string {
  if (/^[^\s@<>,;:"()]+@[^\s@<>,;:"()]+$/.test(text)) return text.toLowerCase();
  throw new ChannelError("invalid_target", `"${text}" is no mail address.`);
}

function plainSignIn(user: string, password: string): string {
  return Buffer.from(`\0${user}\0${password}`).toString("base64");
}

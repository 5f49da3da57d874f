import type { ImapFlow } from "imapflow";
import { z } from "zod";
import type { AdapterKit, InboundSink } from "../adapter.ts";
import { ChannelError } from "../adapter.ts";
import type { EmailConfig } from "./email-config.ts";
import { fileTooLarge } from "../fetch-file.ts";
import { emailMessage, filesOf } from "./email-message.ts";

/** The interval for checks of the mailbox without a notification of the server. */
const LOOK_MS = 60_000;
const MAX_MAIL_BYTES = 10_000_000;
/** The limit up to which a larger mail is read: headers and text come before attachments. */
const BEGINNING_BYTES = 500_000;
/** The age up to which mail is read again when a mailbox was renumbered. */
const RESCAN_MS = 2 * 86_400_000;

const Cursor = z.object({
  uidValidity: z.string(),
  uid: z.int(),
  /** The arrival time of the last mail, in milliseconds since 1970. */
  arrivedMs: z.number(),
});
type Cursor = z.infer<typeof Cursor>;

interface Reading {
  readonly client: ImapFlow;
  readonly kit: AdapterKit;
  readonly config: EmailConfig;
  readonly sink: InboundSink;
  /** The subject of a sender's thread, for the answer. */
  onSubject(
    this: void,
    thread: { readonly sender: string; readonly threadId: string },
    subject: string,
  ): void;
}

/** One IMAP connection: reads new mail from the cursor on, and stores each before the cursor advances. */
export async function openMailbox(
  kit: AdapterKit,
  config: EmailConfig & { readonly imap: Imap },
  {
    sink,
    signal,
    onSubject,
  }: Pick<Reading, "sink" | "onSubject"> & { readonly signal: AbortSignal },
): Promise<{ ended: Promise<void> }> {
  const { imap } = config;
  const client = await imapClient(imap);
  const reading = { client, kit, config, sink, onSubject };
  const closed = Promise.withResolvers<void>();
  let wake = nothing;
  client.on("close", () => (closed.resolve(), wake()));
  client.on("exists", () => wake());
  const leave = () => client.close();
  signal.addEventListener("abort", leave, { once: true });

  try {
    await client.connect();
    const box = await client.mailboxOpen(imap.mailbox);
    const ended = follow(box.uidValidity.toString(), box.uidNext).finally(() => {
      signal.removeEventListener("abort", leave);
      client.close();
    });
    return { ended };
  } catch (error) {
    signal.removeEventListener("abort", leave);
    client.close();
    throw error;
  }

  async function follow(uidValidity: string, uidNext: number): Promise<void> {
    let cursor = await cursorIn(reading, uidValidity, uidNext);
    while (!signal.aborted) {
      // A notification that arrives while mail is read is not lost: the mailbox is read again at once.
      const news = Promise.withResolvers<void>();
      wake = news.resolve;
      cursor = await takeNew(reading, cursor);
      if (!client.usable)
        throw new ChannelError("provider_error", "The mail server closed the connection.");
      const timer = setTimeout(news.resolve, LOOK_MS);
      client.idle().catch(() => undefined); // ends with the next command
      await Promise.race([news.promise, closed.promise]);
      clearTimeout(timer);
      if (!client.usable && !signal.aborted)
        throw new ChannelError("provider_error", "The mail server closed the connection.");
    }
  }
}

type Imap = NonNullable<EmailConfig["imap"]>;

async function imapClient(imap: Imap): Promise<ImapFlow> {
  const { ImapFlow: Client } = await import("imapflow");
  const client = new Client({
    host: imap.host,
    port: imap.port,
    secure: imap.tls === "implicit",
    doSTARTTLS: imap.tls === "starttls",
    auth: { user: imap.user, pass: imap.password },
    logger: false,
  });
  client.on("error", () => undefined); // "close" follows
  return client;
}

/** The validity of UIDs and the UID of a mail, and the index of the file in it. */
const Source = z.tuple([z.string().regex(/^\d+\.\d+$/), z.int()]);

/** Loads a file of a mail over a connection of its own, since the one for new mail may be in another replica. */
export async function loadMailFile(
  imap: Imap,
  source: string,
  { maxBytes, signal }: { readonly maxBytes: number; readonly signal: AbortSignal },
): Promise<Uint8Array> {
  const [key, index] = Source.parse(JSON.parse(source));
  const dot = key.lastIndexOf(".");
  const gone = new ChannelError("not_found", "its mail is not in the mailbox any more");
  const client = await imapClient(imap);
  const leave = () => client.close();
  signal.addEventListener("abort", leave, { once: true });
  try {
    await client.connect();
    const box = await client.mailboxOpen(imap.mailbox, { readOnly: true });
    if (box.uidValidity.toString() !== key.slice(0, dot)) throw gone;
    const uid = key.slice(dot + 1);
    const found = await client.fetchOne(uid, { size: true }, { uid: true });
    if (found === false) throw gone;
    if ((found.size ?? 0) > MAX_MAIL_BYTES)
      throw new ChannelError("unsupported", `its mail is larger than ${MAX_MAIL_BYTES} bytes`);
    const mail = await fetchSource(client, Number(uid), found.size ?? 0);
    if (mail === undefined) throw gone;
    const { simpleParser } = await import("mailparser");
    const file = filesOf(await simpleParser(mail, { skipImageLinks: true }))[index];
    if (file === undefined) throw gone;
    if (file.content.length > maxBytes) throw fileTooLarge(maxBytes);
    return file.content;
  } catch (error) {
    throw error instanceof ChannelError
      ? error
      : new ChannelError("provider_error", mailboxProblem(error).text);
  } finally {
    signal.removeEventListener("abort", leave);
    client.close();
  }
}

/** At the first start existing mail stays unanswered. */
async function cursorIn({ kit }: Reading, uidValidity: string, uidNext: number): Promise<Cursor> {
  const stored = Cursor.safeParse(JSON.parse((await kit.cursor.get()) ?? "null"));
  if (stored.success && stored.data.uidValidity === uidValidity) return stored.data;
  const cursor = stored.success
    ? { ...stored.data, uidValidity, uid: 0 }
    : { uidValidity, uid: uidNext - 1, arrivedMs: kit.now() };
  await kit.cursor.set(JSON.stringify(cursor));
  return cursor;
}

async function takeNew(reading: Reading, from: Cursor): Promise<Cursor> {
  const { client, kit } = reading;
  let cursor = from;
  const found: { uid: number; size: number; arrivedMs: number }[] = [];
  for await (const mail of client.fetch(
    `${from.uid + 1}:*`,
    { uid: true, size: true, internalDate: true },
    { uid: true },
  ))
    // `5:*` has the last mail also when its number is lower.
    if (mail.uid > from.uid)
      found.push({
        uid: mail.uid,
        size: mail.size ?? 0,
        arrivedMs: new Date(mail.internalDate ?? kit.now()).getTime(),
      });
  for (const { uid, size, arrivedMs } of found.toSorted((a, b) => a.uid - b.uid)) {
    if (arrivedMs >= from.arrivedMs - RESCAN_MS)
      await take(reading, { uid, size, uidValidity: cursor.uidValidity });
    const latest = Math.max(cursor.arrivedMs, arrivedMs);
    cursor = { uidValidity: cursor.uidValidity, uid, arrivedMs: latest };
    await kit.cursor.set(JSON.stringify(cursor));
  }
  return cursor;
}

async function take(
  { client, kit, config, sink, onSubject }: Reading,
  { uid, size, uidValidity }: { uid: number; size: number; uidValidity: string },
): Promise<void> {
  const mail = await fetchSource(client, uid, size);
  if (mail === undefined) return; // removed meanwhile
  const { simpleParser } = await import("mailparser");
  const parsed = await simpleParser(mail, { skipImageLinks: true });
  const read = emailMessage(parsed, {
    ownAddress: config.address,
    authservId: config.authservId,
    uidKey: `${uidValidity}.${uid}`,
  });
  if ("ignored" in read) return kit.log.info({ uid, reason: read.ignored }, "mail is not answered");
  const { message } = read;
  const outcome = await sink.accept(message);
  const { threadId = message.messageId, sender } = message;
  if (parsed.subject && outcome !== "ignored")
    onSubject({ sender: sender.id, threadId }, parsed.subject);
}

function nothing(): void {}

async function fetchSource(
  client: ImapFlow,
  uid: number,
  size: number,
): Promise<Buffer | undefined> {
  const source = size > MAX_MAIL_BYTES ? { start: 0, maxLength: BEGINNING_BYTES } : true;
  const mail = await client.fetchOne(String(uid), { source }, { uid: true });
  return mail === false ? undefined : mail.source;
}

/** Returns the problem shown for an account whose mailbox cannot be read. */
export function mailboxProblem(error: unknown): { text: string; isFinal: boolean } {
  const { authenticationFailed, responseText } = error as {
    authenticationFailed?: unknown;
    responseText?: unknown;
  };
  if (authenticationFailed === true)
    return {
      text: "The mail server refuses user or password (IMAP). Many providers want a password made for this program.",
      isFinal: true,
    };
  if (error instanceof ChannelError) return { text: error.message, isFinal: false };
  return {
    text:
      typeof responseText === "string"
        ? `The mail server (IMAP) answers: ${responseText}`
        : "The mail server (IMAP) cannot be reached.",
    isFinal: false,
  };
}

import type { Bus } from "@switchyard/bus/bus";
import { call } from "@switchyard/bus/call";
import {
  type FilePart,
  MAX_FILE_BYTES,
  MAX_INPUT_FILE_BYTES,
  MAX_INPUT_FILES,
} from "@switchyard/contracts/agent-runner/content-parts";
import { cutText } from "@switchyard/contracts/cut-text";
import { ServiceError } from "@switchyard/contracts/errors";
import { deliverFile } from "@switchyard/contracts/agent-runner/files";
import type { Log } from "@switchyard/service/log";
import type { Account } from "../accounts/accounts.ts";
import { ChannelError } from "../adapters/adapter.ts";
import { fileTooLarge } from "../adapters/fetch-file.ts";
import type { InboundRecord } from "./inbound-store.ts";

/** The time for one file at its provider; with the one for storing it, less than the claim of a conversation. */
const LOAD_MS = 15_000;
const MAX_NAME = 120;

type Attachment = InboundRecord["attachments"][number];

export interface LoadParts {
  readonly bus: Bus;
  readonly log: Log;
  readonly now: () => number;
  /** The limit for one file, in bytes. */
  readonly maxBytes: number;
  /** Aborts the files that are being loaded. */
  readonly stopping: AbortSignal;
  /** Stores what became of a file, and renews the claim of the conversation: each file may take as long as the claim. */
  readonly progress: (record: InboundRecord) => Promise<void>;
}

/**
 * Loads the files of a message that have a source, one after the other, and stores them for the owner of the message. Each of them ends
 * with a part or with a problem, which the record has before the next one begins, so that a repeated delivery is the same message. Rejects
 * while the file store is away, or when this replica stops; files are continued then where they were.
 */
export async function loadFiles(
  given: InboundRecord,
  account: Account | null,
  parts: LoadParts,
): Promise<InboundRecord> {
  const record = { ...given, attachments: [...given.attachments] };
  for (const [index, attachment] of given.attachments.entries()) {
    if (attachment.source === undefined) continue;
    const { source: _, ...facts } = attachment;
    const loaded = await loadOne(attachment, { record, account, parts });
    record.attachments[index] = { ...facts, ...loaded };
    await parts.progress(record);
  }
  return record;
}

type Loaded = { readonly file: FilePart } | { readonly problem: string };

async function loadOne(
  { name, mimeType, sizeBytes = 0, source = "" }: Attachment,
  known: {
    readonly record: InboundRecord;
    readonly account: Account | null;
    readonly parts: LoadParts;
  },
): Promise<Loaded> {
  const { record, account, parts } = known;
  const { bus, log, stopping } = parts;
  const stored = filesOf(record);
  const left = MAX_INPUT_FILE_BYTES - stored.reduce((sum, file) => sum + file.sizeBytes, 0);
  const maxBytes = Math.min(MAX_FILE_BYTES, parts.maxBytes);
  if (stored.length >= MAX_INPUT_FILES)
    return { problem: `a message has ${MAX_INPUT_FILES} files at most` };
  if (sizeBytes > maxBytes) return { problem: fileTooLarge(maxBytes).message };
  if (sizeBytes > left)
    return { problem: `with it the files have more than ${MAX_INPUT_FILE_BYTES} bytes` };
  if (account?.adapter.load === undefined)
    return { problem: "the account is not configured any more" };
  const signal = AbortSignal.any([stopping, AbortSignal.timeout(LOAD_MS)]);
  try {
    const bytes = await account.adapter.load(source, {
      maxBytes: Math.min(maxBytes, left),
      signal,
    });
    stopping.throwIfAborted();
    const request = {
      owner: record.caller,
      name: fileName(name, mimeType),
      ...(mimeType === undefined ? {} : { mediaType: cutText(mimeType, MAX_NAME) }),
    };
    return { file: (await call(bus, deliverFile, request, { attachment: [bytes] })).file };
  } catch (error) {
    stopping.throwIfAborted();
    const problem = problemOf(error, parts.now() - Date.parse(record.at));
    if (problem === null) throw error;
    const shown = account.redact(problem);
    log.warn(
      { account: account.name, runId: record.runId, problem: shown },
      "file of a message not loaded",
    );
    return { problem: shown };
  }
}

/** The stored files of a message, as parts of an input. */
export function filesOf({ attachments }: InboundRecord): FilePart[] {
  return attachments.flatMap(({ file }) => file ?? []);
}

/** The reason for the agent; null for an error of a runner that is away or overloaded, after which the message waits. */
function problemOf(error: unknown, waitedMs: number): string | null {
  if (error instanceof ChannelError) return error.message;
  if (!(error instanceof ServiceError)) return "it cannot be loaded";
  if (error.retryable || error.code === "store_unavailable") return null;
  // The file itself may be the reason, so it must not stop its chat for ever.
  if (TIMEOUTS.has(error.code) && waitedMs < MAX_WAIT_MS) return null;
  if (error.code === "files_full") return "there is no room for more files of the account's user";
  // The message begins with the name, which the line for the agent has, too.
  return error.code === "unsupported_file" ? error.message.replace(/^.*?: /, "") : error.message;
}

const TIMEOUTS = new Set(["timeout", "deadline_exceeded"]);
const MAX_WAIT_MS = 600_000;

/** A name that `files.deliver` accepts. */
function fileName(name: string | undefined, mimeType = "file"): string {
  const clean = (name ?? "").replaceAll(/[/\\\p{Cc}]/gu, "_");
  return cutText(clean, MAX_NAME) || cutText(mimeType.split("/")[0] ?? "", MAX_NAME) || "file";
}

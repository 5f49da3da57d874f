import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import {
  SdkError,
  SdkErrorCode,
  serializeMessage,
  type JSONRPCMessage,
  type Transport,
} from "@modelcontextprotocol/client";
import { cutText } from "@switchyard/contracts/cut-text";
import { carried } from "./carried-result.ts";
import { createMessageRateLimit, type MessageRateLimit } from "./message-rate-limit.ts";
import { MessageLines } from "./message-lines.ts";
import { RequestLane } from "./request-lane.ts";
import type { StreamTail } from "../declaration/env-references.ts";
import {
  endProgram,
  exitText,
  spawnError,
  spawnProgram,
  type Program,
} from "../process/child-program.ts";
import { TailBuffer } from "../process/tail-buffer.ts";
import { MessageReader, type Received } from "../normalise/message-reader.ts";

/**
 * A child process that speaks MCP on its standard streams. Compared with the SDK's transport it
 * - leads its own process group, so that every process it starts ends with it,
 * - gets the environment that it is given and nothing of this process's own,
 * - survives any garbage on stdout, and bounds a message before it is complete,
 * - is read more slowly while it sends more than was requested,
 * - reports its death at once, with its exit code and the end of its stderr, and the end of a stream, too.
 */
export interface StdioTransportOptions extends Program {
  readonly maxMessageBytes?: number;
  /** Called once for each finding about the form of a message. */
  readonly onFinding?: (problem: string) => void;
  /** The duration of each step of the shutdown: stdin closed, SIGTERM, SIGKILL. */
  readonly graceMs?: number;
  /** Called right before the child is started. */
  readonly onSpawning?: () => void;
  readonly onSpawned?: (pid: number) => void;
  /** Called when the child and its whole group are gone, and when it could not be started. */
  readonly onGone?: () => Promise<void> | void;
}

const DEFAULT_MAX_MESSAGE_BYTES = 10 * 1024 * 1024;
const NEWLINE = Buffer.from("\n");
const DEFAULT_GRACE_MS = 2_000;
/** The bytes that a server may leave unread on its stdin. All of them are kept in memory meanwhile. */
const MAX_UNREAD_BYTES = 64 * 1024 * 1024;
const STDERR_BYTES = 64 * 1024;
const IGNORED_BYTES = 8 * 1024;
/** After an exit the pipes may still hold an answer; a grandchild may hold them open for ever. */
const PIPE_DRAIN_MS = 200;

export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport["onmessage"];
  /** Sends requests beside the protocol layer. */
  readonly lane = new RequestLane((message) => this.send(message));

  readonly #options: StdioTransportOptions;
  readonly #lines: MessageLines;
  readonly #stderr = new TailBuffer(STDERR_BYTES);
  readonly #ignored = new TailBuffer(IGNORED_BYTES);
  readonly #rateLimit = createMessageRateLimit();
  readonly #stderrLimit = createMessageRateLimit();
  readonly #messages: MessageReader;
  #child: ChildProcessWithoutNullStreams | null = null;
  #isOpen = false;
  #isGathering = false;
  #endReason: string | null = null;
  #ignoredLines = 0;
  #gone: Promise<void> | null = null;

  constructor(options: StdioTransportOptions) {
    this.#options = options;
    this.#lines = new MessageLines(options.maxMessageBytes ?? DEFAULT_MAX_MESSAGE_BYTES);
    this.#messages = new MessageReader(options.onFinding);
  }

  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  /** Lines on stdout that were not JSON-RPC messages. */
  get ignoredLines(): number {
    return this.#ignoredLines;
  }

  /** The last 64 KiB that the child wrote to stderr. */
  get stderrTail(): StreamTail {
    return { text: this.#stderr.text(), isCut: this.#stderr.isCut };
  }

  /** The last of the lines on stdout that were not messages: some programs write their errors there. */
  get ignoredTail(): StreamTail {
    return { text: this.#ignored.text(), isCut: this.#ignored.isCut };
  }

  /** The reason why the connection ended by itself; null while it lives or when the broker closed it. */
  get endReason(): string | null {
    return this.#endReason;
  }

  /** Starts the child. Rejects with SpawnError when the program cannot be run. */
  async start(): Promise<void> {
    if (this.#child !== null) throw new Error("a stdio transport starts one child and only once");
    this.#options.onSpawning?.();
    let child: ChildProcessWithoutNullStreams;
    try {
      child = spawnProgram(this.#options);
      this.#child = child;
      this.#listen(child);
      await once(child, "spawn");
    } catch (error) {
      void this.#options.onGone?.();
      throw spawnError(error, this.#options);
    }
    this.#isOpen = true;
    if (child.pid !== undefined) this.#options.onSpawned?.(child.pid);
  }

  send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (!this.#isOpen || stdin === undefined || !stdin.writable) {
      return Promise.reject(
        new SdkError(SdkErrorCode.NotConnected, "the server process is not running"),
      );
    }
    if (stdin.writableLength > MAX_UNREAD_BYTES) {
      const reason = "the server does not read its input";
      this.#breakOff(reason);
      return Promise.reject(new SdkError(SdkErrorCode.NotConnected, reason));
    }
    if ("method" in message && "id" in message) this.#rateLimit.expect();
    this.#messages.sent(message);
    this.#gather(stdin);
    return new Promise((resolve, reject) => {
      stdin.write(serializeMessage(message), (error) => {
        // Some of the bytes may have been read, so nothing proves that the request was not seen.
        if (error)
          reject(
            new SdkError(
              SdkErrorCode.ConnectionClosed,
              `write to the server failed: ${error.message}`,
            ),
          );
        else resolve();
      });
    });
  }

  /** Writes what is sent in one turn of the event loop at once: under load that is a system call less for each. */
  #gather(stdin: Writable): void {
    if (this.#isGathering) return;
    this.#isGathering = true;
    stdin.cork();
    process.nextTick(() => {
      this.#isGathering = false;
      stdin.uncork();
    });
  }

  /** Resolves when the child and its group are gone; never rejects. */
  async close(): Promise<void> {
    this.#disconnect();
    await this.#gone;
  }

  #listen(child: ChildProcessWithoutNullStreams): void {
    // Without a listener a failed spawn or a broken pipe would end the broker.
    child.on("error", (error) => this.onerror?.(error));
    child.stdin.on("error", (error) => {
      this.onerror?.(error);
      this.#endSoon("the server closed its input");
    });
    child.stdout.once("end", () => {
      // Some programs end without a newline after their last message.
      this.#receive(NEWLINE);
      this.#endSoon("the server closed its output");
    });
    child.stdout.on("error", (error) => this.onerror?.(error));
    child.stderr.on("error", (error) => this.onerror?.(error));
    child.stderr.on("data", (chunk: Buffer) => {
      this.#stderr.push(chunk);
      this.#stderrLimit.add(chunk.length);
      slowDown(child.stderr, this.#stderrLimit);
    });
    child.stdout.on("data", (chunk: Buffer) => this.#receive(chunk));
    child.once("exit", (code, signal) => {
      child.stderr.resume(); // the end of its stderr
      const end = (): void => {
        clearTimeout(timer);
        child.off("close", end);
        // After a close by the broker an orderly exit is no reason; a failure may be why it was closed.
        const isOrdered = !this.#isOpen && (code === 0 || signal !== null);
        if (!isOrdered) this.#endReason ??= exitText(code, signal);
        this.#disconnect();
      };
      const timer = setTimeout(end, PIPE_DRAIN_MS);
      child.once("close", end);
    });
  }

  #receive(chunk: Buffer): void {
    if (!this.#isOpen) return;
    try {
      this.#deliverFrom(
        this.#lines.push(chunk).flatMap((line) => this.#read(line)),
        0,
      );
    } catch (error) {
      // Only the length cap throws here; the rest of the stream cannot be parsed any more.
      const failure = error instanceof Error ? error : new Error(String(error));
      this.onerror?.(failure);
      this.#breakOff(failure.message);
    }
  }

  #breakOff(reason: string): void {
    this.#endReason ??= reason;
    this.#disconnect();
  }

  /** A stream to or from the process has ended. If the process exits shortly after, its exit code gives the better reason. */
  #endSoon(reason: string): void {
    if (!this.#isOpen) return;
    setTimeout(() => this.#isOpen && this.#breakOff(reason), 2 * PIPE_DRAIN_MS).unref();
  }

  /** The messages of a line. A line without any is kept for the exit excerpt. */
  #read(line: string): ReceivedInLine[] {
    const received = this.#messages.read(line);
    if (received === null) {
      this.#rateLimit.add(line.length);
      if (line.trim() === "") return [];
      this.#ignoredLines += 1;
      this.#ignored.push(Buffer.from(`${cutText(line, IGNORED_BYTES)}\n`));
      return [];
    }
    const share = Math.ceil(line.length / received.length);
    return received.map((each) => Object.assign(each, { share, lineLength: line.length }));
  }

  /**
   * The protocol layer handles an answer at once and a notification one turn later, so progress that
   * comes in one piece with its result would be forgotten. No other chunk is read between the turns.
   */
  #deliverFrom(received: readonly ReceivedInLine[], start: number): void {
    for (let index = start; index < received.length; index += 1) {
      const each = received[index];
      if (each === undefined) break;
      this.#deliver(each);
      if (!("id" in each.message) && index + 1 < received.length) {
        queueMicrotask(() => this.#deliverFrom(received, index + 1));
        return;
      }
    }
    if (this.#child !== null) slowDown(this.#child.stdout, this.#rateLimit);
  }

  /** The protocol layer throws at a message that is nested deeper than it can serialise, which does not end the connection. */
  #deliver(received: ReceivedInLine): void {
    const { message, share, lineLength } = received;
    if ("method" in message) this.#rateLimit.add(share);
    else this.#rateLimit.answer(share);
    try {
      if (!this.lane.take(message, lineLength)) this.onmessage?.(carried(received));
    } catch (error) {
      this.#ignoredLines += 1;
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** Reports the end first and ends the process after: no caller waits for a server that hangs. */
  #disconnect(): void {
    const wasOpen = this.#isOpen;
    this.#isOpen = false;
    if (this.#child?.pid !== undefined) this.#gone ??= this.#endProgram(this.#child);
    if (!wasOpen) return;
    // The owner of the connection is notified first, because it gives the reason to requests that are lost with the lane.
    this.onclose?.();
    this.lane.close();
  }

  async #endProgram(child: ChildProcessWithoutNullStreams): Promise<void> {
    await endProgram(child, this.#options.graceMs ?? DEFAULT_GRACE_MS);
    await this.#options.onGone?.();
  }
}

interface ReceivedInLine extends Received {
  readonly lineLength: number;
  /** Characters of the line that are this message's; a line may be a batch. */
  readonly share: number;
}

/** The pipe fills, and the server waits. */
function slowDown(stream: Readable, rateLimit: MessageRateLimit): void {
  const pauseMs = rateLimit.pauseMs();
  if (pauseMs === 0 || stream.isPaused()) return;
  stream.pause();
  setTimeout(() => stream.resume(), pauseMs).unref();
}

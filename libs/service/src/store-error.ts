/**
 * A reason why Redis did not execute a correct command. Each kind has one message with a remedy; every service reports it in the same
 * words.
 */
export type StoreTrouble = keyof typeof MESSAGES;

const MESSAGES = {
  /** The connection failed or was lost. */
  unreachable:
    "Redis cannot be reached: see whether it runs, and whether YARD_REDIS_URL and the network lead to it",
  /** The connection is up and no reply came in time. */
  silent: "Redis does not answer in time: see whether it is overloaded or its disk is slow",
  full: "Redis has reached its maxmemory and refuses writes: give it more memory, or delete what is not needed (docs/operations.md, When Redis is full)",
  loading: "Redis is loading its data from disk: wait until it has",
  replica:
    "Redis is a replica, or was made one, and refuses writes: let YARD_REDIS_URL lead to the primary",
  "no-primary":
    "a part of Redis has no primary that serves it: wait for the failover, or bring the primary back",
  disk: "Redis cannot write to its disk and refuses writes: make room on that disk",
  "no-replicas":
    "Redis has fewer replicas than min-replicas-to-write and refuses writes: bring the replicas back",
  busy: "Redis is busy with a script or a command that takes long: wait, and see its slow log",
  denied:
    "Redis refuses this service's user: give Redis the users.acl of this version (yard keys init) and check the password",
} as const;

/**
 * Redis, or another store of a service, did not execute a command or holds content that cannot be read. After a connection failure it is unknown if a write
 * happened.
 */
export class StoreError extends Error {
  override readonly name = "StoreError";
  /** Null: Redis answered, and its content cannot be used; or it is another store. */
  readonly trouble: StoreTrouble | null;

  constructor(
    message: string,
    {
      trouble = null,
      cause,
    }: { readonly trouble?: StoreTrouble | null; readonly cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.trouble = trouble;
  }
}

/**
 * The answer of Redis. Any cause that keeps Redis from answering becomes a StoreError; an error of the command itself is a fault and stays
 * as it is.
 */
export async function fromRedis<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    throw storeErrorOf(error) ?? error;
  }
}

/** The answers of a pipeline or a transaction. Rejects as {@link fromRedis} does when one of its commands failed. */
export function allFromRedis(
  replies: Promise<readonly [Error | null, unknown][] | null>,
): Promise<unknown[]> {
  const answers = replies.then((all) =>
    (all ?? []).map(([error, answer]) => {
      if (error !== null) throw error;
      return answer;
    }),
  );
  return fromRedis(answers);
}

/** A function that does some work with a store, and throws what `failure` makes of a StoreError. */
export function storeFailureAs(failure: (error: StoreError) => Error) {
  return async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw error instanceof StoreError ? failure(error) : error;
    }
  };
}

/** Describes one trouble, and the next step of an operator. */
export function adviceOn(trouble: StoreTrouble): string {
  return MESSAGES[trouble];
}

/**
 * Classifies the errors of the Redis client; no other function does. Null for a fault: a mistake of the program, not of Redis or the
 * way to it.
 */
export function storeErrorOf(error: unknown): StoreError | null {
  if (error instanceof StoreError) return error;
  const trouble = troubleOf(error);
  if (trouble === null) return null;
  return new StoreError(`${MESSAGES[trouble]} (${detailOf(error)})`, { trouble, cause: error });
}

/** The first word of an error reply: https://redis.io/docs/latest/develop/reference/protocol-spec/#simple-errors. */
const REPLIES: Readonly<Record<string, StoreTrouble>> = {
  OOM: "full",
  LOADING: "loading",
  READONLY: "replica",
  MASTERDOWN: "no-primary",
  CLUSTERDOWN: "no-primary",
  TRYAGAIN: "no-primary",
  MOVED: "no-primary",
  ASK: "no-primary",
  MISCONF: "disk",
  NOREPLICAS: "no-replicas",
  BUSY: "busy",
  UNKILLABLE: "busy",
  NOAUTH: "denied",
  NOPERM: "denied",
  WRONGPASS: "denied",
};

/** The name of the client's errors for what Redis replied. */
const REPLY_ERROR = "ReplyError";

function troubleOf(error: unknown): StoreTrouble | null {
  if (!(error instanceof Error)) return null;
  const [code = ""] = error.message.split(" ", 1);
  if (error.name === REPLY_ERROR) {
    // A transaction is refused for the first of its commands that was.
    if (code === "EXECABORT" && "previousErrors" in error && Array.isArray(error.previousErrors))
      return error.previousErrors.map(troubleOf).find((trouble) => trouble !== null) ?? null;
    return REPLIES[code] ?? null;
  }
  if (error.message.startsWith("Command timed out")) return "silent";
  return isOfConnection(error) ? "unreachable" : null;
}

/** The client has no class of its own for most of these, so they are recognized by their texts. */
const CONNECTION_TEXT =
  /^(?:Connection is closed|Stream isn't writeable|Command aborted|Reached the max retries|Cluster isn't ready|Cluster is ended|Too many Cluster redirections|None of startup nodes|Failed to refresh slots|Node is disconnected|All sentinels are|connect ETIMEDOUT)/;
const SOCKET_CODE =
  /^E(?:CONNREFUSED|CONNRESET|CONNABORTED|PIPE|TIMEDOUT|HOSTUNREACH|NETUNREACH|NOTFOUND|AI_AGAIN)$/;

/** True for an error of a socket, or of a client that has none. */
export function isOfConnection(error: Error): boolean {
  if (CONNECTION_TEXT.test(error.message)) return true;
  return "code" in error && typeof error.code === "string" && SOCKET_CODE.test(error.code);
}

/** The error's text, without the script that Redis names behind it. */
function detailOf(error: unknown): string {
  const said = error instanceof Error ? error.message || error.name : String(error);
  return said.replace(/ script: [0-9a-f]{40}.*$/, "").replace(/\.$/, "");
}

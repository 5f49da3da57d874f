import type { Carrier } from "./carrier.ts";

export type BusStatus = "connected" | "reconnecting" | "closed";

export interface Bus {
  readonly user: string;
  /** Set for a bus that has no connection of its own. */
  readonly carrier?: Carrier;
  readonly status: BusStatus;
  readonly serverVersion: string;
  /** The server that the bus is connected to, under a name that is new each time it starts; null in a cluster, which outlives the start of one. */
  readonly loneServer: string | null;
  /** Largest message the server takes, in bytes. */
  readonly maxPayload: number;
  /** Streams that do not store messages although the connection is up, such as with a full disk. */
  readonly silentStreams: readonly string[];
  /** Resolves when the server has processed everything sent so far, subscriptions included. */
  flush(): Promise<void>;
  /**
   * Stops every service and consumer made on this bus, waits for their work (at most `deadlineMs`,
   * default 20,000; then it is aborted), flushes and closes.
   */
  drain(deadlineMs?: number): Promise<void>;
  /** Closes at once; every call that waits for a reply rejects with `disconnected`, not retryable. */
  close(): Promise<void>;
}

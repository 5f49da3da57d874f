import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

/** Effects of a proxy on its connections, and on new ones meanwhile. */
export type ProxyFault =
  /** Everything comes later by so much. */
  | { readonly kind: "latency"; readonly ms: number }
  /** Nothing arrives, and no error is reported; bytes in flight arrive when the fault is over. */
  | { readonly kind: "blackhole" }
  /** Connections are broken with RST, new ones at once. */
  | { readonly kind: "reset" }
  /** Each connection is broken with RST after so many more bytes, in the middle of a message. */
  | { readonly kind: "cut"; readonly bytes: number };

/** A TCP proxy on loopback between a service and one server. */
export interface FaultProxy {
  readonly port: number;
  inject(fault: ProxyFault): void;
  /** Ends the fault. */
  heal(): void;
  close(): Promise<void>;
}

export async function startFaultProxy(target: { port: number }): Promise<FaultProxy> {
  const links = new Set<Link>();
  let fault: ProxyFault | null = null;
  const server = createServer((incoming) => {
    const link = new Link(incoming, connect(target.port, "127.0.0.1"), fault);
    links.add(link);
    link.onGone(() => links.delete(link));
  });
  const change = (next: ProxyFault | null): void => {
    fault = next;
    for (const link of links) link.meet(next);
  };
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port, // listening on TCP
    inject: (next) => change(next),
    heal: () => change(null),
    async close() {
      server.close();
      for (const link of links) link.break();
      await once(server, "close");
    },
  };
}

/** One connection through the proxy: two sockets and a queue for each direction. */
class Link {
  readonly #incoming: Socket;
  readonly #outgoing: Socket;
  readonly #ways: readonly Way[];
  #bytesLeft = Number.POSITIVE_INFINITY;

  constructor(incoming: Socket, outgoing: Socket, fault: ProxyFault | null) {
    this.#incoming = incoming;
    this.#outgoing = outgoing;
    const count = (bytes: number): number => {
      const passes = Math.min(bytes, this.#bytesLeft);
      this.#bytesLeft -= passes;
      return passes;
    };
    const broken = (): void => this.break();
    this.#ways = [
      new Way({ from: incoming, to: outgoing, count, broken }),
      new Way({ from: outgoing, to: incoming, count, broken }),
    ];
    for (const socket of [incoming, outgoing]) {
      socket.setNoDelay(true);
      socket.on("error", broken);
      socket.on("close", (hadError) => {
        if (hadError) broken(); // otherwise the end was passed on, or both are broken already
      });
    }
    this.meet(fault);
  }

  onGone(listener: () => void): void {
    this.#incoming.once("close", listener);
  }

  meet(fault: ProxyFault | null): void {
    if (fault?.kind === "reset") return this.break();
    this.#bytesLeft = fault?.kind === "cut" ? fault.bytes : Number.POSITIVE_INFINITY;
    for (const way of this.#ways) {
      way.isHeld = fault?.kind === "blackhole";
      way.delayMs = fault?.kind === "latency" ? fault.ms : 0;
      way.flow();
    }
  }

  break(): void {
    for (const socket of [this.#incoming, this.#outgoing]) {
      if (socket.destroyed) continue;
      // A reset before the connection or after its end leaves a handle in Node 24 that spins for ever.
      if (socket.connecting || socket.writableEnded) socket.destroy();
      else socket.resetAndDestroy();
    }
  }
}

interface WayOptions {
  readonly from: Socket;
  readonly to: Socket;
  /** Returns the number of these bytes that may still pass. */
  readonly count: (bytes: number) => number;
  readonly broken: () => void;
}

/** One direction: pieces leave in the order in which they came, each when its time has come. */
class Way {
  isHeld = false;
  delayMs = 0;
  readonly #options: WayOptions;
  readonly #queue: { readonly bytes: Buffer; readonly dueAt: number }[] = [];
  #isEnded = false;
  #timer: NodeJS.Timeout | null = null;

  constructor(options: WayOptions) {
    this.#options = options;
    const { from } = options;
    from.on("data", (bytes: Buffer) => {
      this.#queue.push({ bytes, dueAt: performance.now() + this.delayMs });
      this.flow();
    });
    from.on("end", () => {
      this.#isEnded = true;
      this.flow();
    });
  }

  flow(): void {
    const { to, count, broken } = this.#options;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    while (!this.isHeld && !to.destroyed) {
      const [next] = this.#queue;
      if (next === undefined) break;
      const waitMs = next.dueAt - performance.now();
      if (waitMs > 0) {
        this.#timer = setTimeout(() => this.flow(), waitMs);
        return;
      }
      this.#queue.shift();
      const passes = count(next.bytes.length);
      if (passes < next.bytes.length) {
        to.write(next.bytes.subarray(0, passes), broken);
        this.#queue.length = 0;
        return;
      }
      to.write(next.bytes);
    }
    if (this.#isEnded && this.#queue.length === 0 && !this.isHeld) to.end();
  }
}

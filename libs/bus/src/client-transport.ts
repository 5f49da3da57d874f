import { createConnection, type Socket } from "node:net";
import {
  NatsConnectionImpl,
  setTransportFactory,
  type NatsConnection,
} from "@nats-io/transport-node";
import type { NodeConnectionOptions } from "@nats-io/transport-node/lib/connect.js";
import { nodeResolveHost, NodeTransport } from "@nats-io/transport-node/lib/node_transport.js";

/** Does the same as the client library's `connect`, with a transport that closes the socket of a failed attempt. */
export function connectClient(options: NodeConnectionOptions): Promise<NatsConnection> {
  setTransportFactory({ factory: () => new ClientTransport(), dnsResolveFn: nodeResolveHost });
  return NatsConnectionImpl.connect(options);
}

/**
 * The library's own transport closes only established connections. A server that accepts connections and does not speak, or a network
 * without answers, left a socket open for each attempt, which kept the process from ending.
 */
class ClientTransport extends NodeTransport {
  #opened: Socket | null = null;

  override dial({ hostname, port }: { hostname: string; port: number }): Promise<Socket> {
    const { promise, resolve, reject } = Promise.withResolvers<Socket>();
    const socket = createConnection(port, hostname);
    this.#opened = socket;
    let reason: Error | undefined;
    socket.once("connect", () => {
      socket.removeAllListeners(); // the library puts on its own
      resolve(socket);
    });
    socket.on("error", (error) => (reason = error));
    socket.once("close", () => reject(reason));
    socket.setNoDelay(true);
    return promise;
  }

  override async close(error?: Error): Promise<void> {
    if (this.connected) return super.close(error);
    this.socket?.destroy();
    this.#opened?.destroy();
  }
}

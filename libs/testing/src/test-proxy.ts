import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

/** A TCP proxy on loopback that cuts connections at a moment that a test chooses. */
export interface CuttingProxy {
  readonly port: number;
  /** Cuts the next connections at the moment at which their client sends text that fits. */
  cutAt(text: RegExp, times: number): void;
  /** The number of these cuts that are still to come. */
  cutsLeft(): number;
  cutAll(): void;
  close(): void;
}

/** A proxy to a port of this machine. The caller closes it. */
export async function cuttingProxy(port: number): Promise<CuttingProxy> {
  const open = new Set<Socket>();
  let wanted = { text: /$^/, times: 0 };
  const listener = createServer((client) => {
    const server = connect(port, "127.0.0.1");
    for (const socket of [client, server]) {
      open.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        open.delete(socket);
        client.destroy();
        server.destroy();
      });
    }
    server.pipe(client);
    client.on("data", (chunk: Buffer) => {
      if (wanted.times > 0 && wanted.text.test(chunk.toString("latin1"))) {
        wanted.times -= 1;
        client.destroy();
      } else server.write(chunk);
    });
  }).listen(0, "127.0.0.1");
  await once(listener, "listening");
  const cutAll = (): void => {
    for (const socket of open) socket.destroy();
  };
  return {
    port: (listener.address() as AddressInfo).port, // what a TCP listener has
    cutAt(text, times) {
      wanted = { text, times };
    },
    cutsLeft: () => wanted.times,
    cutAll,
    close() {
      listener.close();
      cutAll();
    },
  };
}

import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { after } from "node:test";

/** A proxy on loopback that adds a credential to each request, for programs that cannot send one. Everything else passes as it is. */
export async function withCredential(target: string, key: string): Promise<string> {
  const { hostname, port } = new URL(target);
  const proxy = createServer((incoming, outgoing) => {
    const { method, url: path, headers } = incoming;
    const passed = request(
      { hostname, port, method, path, headers: { ...headers, authorization: `Bearer ${key}` } },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      },
    );
    passed.on("error", () => outgoing.destroy());
    outgoing.on("close", () => passed.destroy());
    incoming.pipe(passed);
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  after(() => {
    proxy.close();
    proxy.closeAllConnections();
  });
  const { port: own } = proxy.address() as AddressInfo; // it listens on TCP
  return `http://127.0.0.1:${own}`;
}

import { createServer } from "node:net";

/** Returns a port of 127.0.0.1 without a listener, for a program that has to know its port before it starts. Another process may take it first. */
export function freePort(): Promise<number> {
  const listener = createServer();
  return new Promise((done, fail) => {
    listener.once("error", fail);
    listener.listen(0, "127.0.0.1", () => {
      const address = listener.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      listener.close(() => done(port));
    });
  });
}

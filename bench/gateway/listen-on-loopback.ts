import { Server } from "node:net";

// Preloaded into gateways that have no setting for it: whatever they listen on is on loopback only.
// oxlint-disable-next-line typescript/unbound-method -- it is called with the `this` of each server
const listen = Server.prototype.listen;
// The overloads of `listen` that servers of Node's HTTP frameworks use begin with the port.
Server.prototype.listen = function (this: Server, ...args: unknown[]) {
  const [port, ...rest] = args;
  const callback = rest.find((arg) => typeof arg === "function");
  const isPort = typeof port === "number" || typeof port === "string";
  const given = isPort ? [{ port: Number(port), host: "127.0.0.1" }, callback] : args;
  return listen.apply(this, given as never);
} as typeof listen;

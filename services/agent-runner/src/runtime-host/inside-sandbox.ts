// Runs inside a CLI's sandbox, which has its own network: it lets the CLI reach the sockets of the outlet (outlet.ts) as a proxy
// and as ports of this machine, starts the CLI and ends as it ends. It may import only files that the sandbox shows.
import { spawn } from "node:child_process";
import { createServer, connect, type AddressInfo } from "node:net";
import { constants } from "node:os";

/** The plan that {@link insideArguments} of cli-process.ts writes. */
interface Plan {
  /** The socket of the proxy. */
  readonly proxy: string;
  /** Ports of the loopback interface, each with its socket. */
  readonly ports: readonly { readonly port: number; readonly socket: string }[];
}

const [text = "{}", program = "", ...args] = process.argv.slice(2);
const plan = JSON.parse(text) as Plan; // our own host wrote it
const port = await carry(plan.proxy, 0);
for (const each of plan.ports) await carry(each.socket, each.port);
const proxy = `http://127.0.0.1:${port}`;
const child = spawn(program, args, {
  stdio: "inherit",
  env: {
    ...process.env,
    ...Object.fromEntries(
      ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"].flatMap((name) => [
        [name, proxy],
        [name.toLowerCase(), proxy],
      ]),
    ),
    NO_PROXY: "127.0.0.1,localhost,::1",
    no_proxy: "127.0.0.1,localhost,::1",
  },
});
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const)
  process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  process.stderr.write(`${program} cannot be started: ${String(error)}\n`);
  process.exit(127);
});
child.on("exit", (code, signal) =>
  process.exit(code ?? 128 + (signal === null ? 0 : constants.signals[signal])),
);

/** Carries each connection to a port of the loopback interface to a socket; returns the port. */
async function carry(socket: string, wanted: number): Promise<number> {
  const server = createServer((inner) => {
    const outer = connect(socket);
    inner.pipe(outer).pipe(inner);
    inner.on("error", () => outer.destroy());
    outer.on("error", () => inner.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    // Both families: `localhost` may be either.
    server.listen({ host: "::", port: wanted }, resolve);
  }).catch(() => new Promise<void>((resolve) => server.listen(wanted, "127.0.0.1", resolve)));
  return (server.address() as AddressInfo).port; // the server listens on a port
}

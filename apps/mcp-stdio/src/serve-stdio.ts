import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import type { Bus } from "@switchyard/bus/bus";
import type { Backend } from "./backend.ts";
import { EnvironmentError, readEnvironment, type ServerEnvironment } from "./environment.ts";
import { lenientLines } from "./lenient-lines.ts";
import { createStdioServer } from "./stdio-server.ts";

export interface ServeStdioOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly scope: "platform" | "all";
  readonly version: string;
  /** The gateway that the command line talks to, for when the environment names no address; null where it talks to NATS. */
  readonly gateway: () => Promise<{ readonly url: string; readonly token: string } | null>;
  /** Connects to NATS: at the address, or where the command line does; with the seed, or with the command line's own key. */
  readonly openBus: (at: {
    readonly url: string | null;
    readonly seed: string | null;
  }) => Promise<Bus>;
}

/** Serves MCP on standard input and output until the input ends; resolves with the exit code [F2] [F3]. */
export async function serveMcpStdio(options: ServeStdioOptions): Promise<number> {
  let environment: ServerEnvironment;
  try {
    environment = readEnvironment(options.env);
  } catch (error) {
    if (!(error instanceof EnvironmentError)) throw error;
    logLine(`fatal: ${error.message}`);
    return 1;
  }
  const opened = openOnce(environment, options);
  const { scope, version } = options;
  const ended = new Promise<void>((resolve) => {
    for (const event of ["end", "close", "error"]) process.stdin.once(event, () => resolve());
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.once(signal, () => resolve());
    process.stdout.once("error", () => resolve());
  });
  const handle = serveStdio(
    ({ era }) =>
      createStdioServer({ environment, scope, backend: opened.get, version, era, onError }),
    {
      transport: new StdioServerTransport(process.stdin.pipe(lenientLines(process.stdout))),
      onerror: (error) => logLine(isReport(error) ? NO_MESSAGE : error.message),
    },
  );
  // Opened in advance, while the client still initializes.
  opened.get().catch(onError);
  await ended;
  await handle.close();
  await opened.close();
  return 0;
}

const NO_MESSAGE = "a message of the client is not JSON-RPC; it is ignored";

/** The SDK reports a message of a wrong form with its validator's issues, as JSON. */
function isReport({ message }: Error): boolean {
  return message.startsWith("[");
}

/** The connection is made once, and retried when it failed. */
function openOnce(environment: ServerEnvironment, options: ServeStdioOptions) {
  let backend: Promise<Backend> | null = null;
  const get = (): Promise<Backend> => {
    backend ??= open(environment, options).catch((error: unknown) => {
      backend = null;
      throw error;
    });
    return backend;
  };
  const close = async (): Promise<void> => {
    // A backend that never came up has nothing to close.
    await backend?.then((one) => one.close()).catch(() => {});
  };
  return { get, close };
}

async function open(
  { gatewayUrl, gatewayToken, claims }: ServerEnvironment,
  { gateway, openBus }: ServeStdioOptions,
): Promise<Backend> {
  const { url, token } = (gatewayUrl === null ? await gateway() : null) ?? {
    url: gatewayUrl,
    token: gatewayToken,
  };
  if (url !== null && /^https?:/.test(url)) {
    const { httpBackend } = await import("./http-backend.ts");
    return httpBackend(url, token ?? "", claims);
  }
  const [bus, { natsBackend }] = await Promise.all([
    openBus({ url, seed: token !== null && SEED.test(token) ? token : null }),
    import("./nats-backend.ts"),
  ]);
  const runToken = token !== null && RUN_TOKEN.test(token) ? token : null;
  return natsBackend(bus, { runToken, claims });
}

/** An NKey seed of a user and a signed run token are distinguished by their form. */
const SEED = /^SU[A-Z2-7]{56}$/;
const RUN_TOKEN = /^[\w-]+\.[\w-]+\.[\w-]+$/;

function logLine(message: string): void {
  process.stderr.write(`switchyard-mcp-server ${message}\n`);
}

function onError(error: unknown): void {
  logLine(error instanceof Error ? error.message : "fault");
}

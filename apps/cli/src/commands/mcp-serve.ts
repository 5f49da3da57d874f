import { serveMcpStdio } from "@switchyard/mcp-stdio/serve-stdio";
import { apiKeyFor } from "../api-key.ts";
import { chosenGateway, findBus, openBus } from "../bus-session.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { VERSION } from "../version.ts";

/** `yard mcp serve`: standard input and output are the protocol's alone. */
export async function serve({ tools }: { readonly tools: "platform" | "all" }): Promise<ExitCode> {
  const { env } = process;
  const code = await serveMcpStdio({
    env,
    scope: tools,
    version: VERSION,
    async gateway() {
      const url = chosenGateway(env);
      return url === null ? null : { url, token: await apiKeyFor(url, env) };
    },
    async openBus({ url, seed }) {
      const target = await findBus(url === null ? env : { ...env, YARD_NATS_URL: url });
      return openBus(target, seed);
    },
  });
  return code === 0 ? EXIT.ok : EXIT.failed;
}

import { call } from "@switchyard/bus/call";
import type { CallOptions } from "@switchyard/bus/call-options";
import type { Bus } from "@switchyard/bus/bus";
import type { Rpc, Tokens } from "@switchyard/contracts/define";
import { ServiceError } from "@switchyard/contracts/errors";
import { ServerId } from "@switchyard/contracts/ids";
import { ensureServer } from "@switchyard/contracts/mcp-broker/mcp-ownership";
import type { z } from "zod";
import { CliError } from "../cli-error.ts";

/** An rpc that the owner of a server answers. */
export type ServerRpc = Rpc<`yard.rpc.{caller}.mcp.${string}.{server}`>;

/** Calls the broker that owns a server. When none does, a broker is made to claim it, and the call is repeated once. */
export async function askMcpServer<R extends ServerRpc>(
  bus: Bus,
  contract: R,
  { server, request }: { readonly server: string; readonly request: z.input<R["request"]> },
): Promise<z.output<R["reply"]>> {
  if (!ServerId.safeParse(server).success) {
    throw new CliError("unknown_server", `${JSON.stringify(server)} is not a valid server id`, {
      hint: "see the servers with: ./yard mcp list",
    });
  }
  // The subject of each of these contracts has this token; its type got lost in the parameter.
  const tokens = { server } as unknown as Omit<Tokens<R["subject"]>, "caller">;
  const options: CallOptions<R> = { tokens };
  try {
    return await call(bus, contract, request, options);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== "no_responders") throw error;
    await call(bus, ensureServer, { server });
  }
  return call(bus, contract, request, options);
}

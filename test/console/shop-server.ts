import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import {
  modernAnswer,
  switchableServer,
} from "../../services/mcp-broker/test-fixtures/switchable-server.ts";

const Address = z.object({ street: z.string(), city: z.string().default("Berlin") });
const Order = z.object({
  item: z.string().describe("What is wanted"),
  size: z.enum(["small", "large"]).default("small"),
  count: z.number().int().min(1).max(9),
  express: z.boolean().optional(),
  day: z.iso.date().optional(),
  address: Address,
  tags: z.array(z.string()).optional(),
  lines: z.array(z.object({ name: z.string(), amount: z.number() })).optional(),
  payment: z.union([
    z.object({ kind: z.literal("card"), number: z.string() }),
    z.object({ kind: z.literal("invoice"), days: z.number().int() }),
  ]),
  note: z.string().nullable().optional(),
  extra: z.record(z.string(), z.unknown()).optional(),
});

/** A server with a tool that accepts many kinds of arguments, and returns them; its description can be changed. */
export async function shopServer() {
  let description = "Takes an order.";
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: "shop", version: "1" }, { capabilities: { tools: {} } });
    server.registerTool("order", { description, inputSchema: Order }, (order) => ({
      content: [{ type: "text", text: JSON.stringify(order) }],
    }));
    return server;
  });
  const shop = await switchableServer(modernAnswer([], { handler }));
  return {
    url: shop.url,
    describe(text: string): void {
      description = text;
    },
  };
}

import assert from "node:assert/strict";
import { test } from "node:test";
import { parsedConfig } from "./parsed-config.ts";
import { CLIENT_FORMATS, MCP_CLIENTS, type McpClient } from "./client-formats.ts";
import { editedConfig } from "./edited-config.ts";

const URL = "http://127.0.0.1:8080/mcp";

function edited(client: McpClient, text: string): string {
  const format = CLIENT_FORMATS[client];
  return editedConfig(text, { format, name: "switchyard", entry: format.entry(URL) });
}

const EMPTY: Readonly<Record<McpClient, string>> = {
  claude: `{
  "mcpServers": {
    "switchyard": {
      "type": "http",
      "url": "${URL}",
      "headers": {
        "Authorization": "Bearer \${YARD_HTTP_TOKEN}"
      }
    }
  }
}
`,
  codex: `[mcp_servers.switchyard]
url = "${URL}"
bearer_token_env_var = "YARD_HTTP_TOKEN"
`,
  gemini: `{
  "mcpServers": {
    "switchyard": {
      "httpUrl": "${URL}",
      "headers": {
        "Authorization": "Bearer $YARD_HTTP_TOKEN"
      }
    }
  }
}
`,
  opencode: `{
  "mcp": {
    "switchyard": {
      "type": "remote",
      "url": "${URL}",
      "headers": {
        "Authorization": "Bearer {env:YARD_HTTP_TOKEN}"
      }
    }
  }
}
`,
  cursor: `{
  "mcpServers": {
    "switchyard": {
      "url": "${URL}",
      "headers": {
        "Authorization": "Bearer \${env:YARD_HTTP_TOKEN}"
      }
    }
  }
}
`,
  vscode: `{
  "servers": {
    "switchyard": {
      "type": "http",
      "url": "${URL}",
      "headers": {
        "Authorization": "Bearer \${input:switchyard-token}"
      }
    }
  },
  "inputs": [
    {
      "type": "promptString",
      "id": "switchyard-token",
      "description": "Token of Switchyard (YARD_HTTP_TOKEN)",
      "password": true
    }
  ]
}
`,
};

test("each client gets its own format, and a second time changes nothing", () => {
  for (const client of MCP_CLIENTS) {
    const text = edited(client, "");
    assert.equal(text, EMPTY[client], client);
    assert.equal(edited(client, text), text, client);
  }
});

test("comments, order, line ends and how others are written stay in JSON", () => {
  const text = [
    "// mine",
    "{",
    '\t"theme": "dark", // keep',
    '\t"servers": {',
    '\t\t"a": {"command":"x",  "args":["1"]}, // a server',
    "\t},",
    '\t"inputs": [{"id":"k"}],',
    "}",
    "",
  ].join("\r\n");
  const result = edited("vscode", text);
  assert.ok(result.includes("\r\n") && !/[^\r]\n/.test(result));
  for (const part of ["// mine", "// keep", '"a": {"command":"x",  "args":["1"]}', "// a server"])
    assert.ok(result.includes(part), `${part} is gone from ${result}`);
  const config = parsedConfig(result, CLIENT_FORMATS.vscode);
  assert.deepEqual(Object.keys(config["servers"] ?? {}), ["a", "switchyard"]);
  assert.deepEqual(
    (config["inputs"] as { id: string }[]).map(({ id }) => id),
    ["k", "switchyard-token"],
  );
  assert.equal(edited("vscode", result), result);
});

test("an older entry is replaced, and one beside it is not touched", () => {
  const old = '{"mcpServers":{"switchyard":{"url":"http://old"},"b":{"url":"http://b"}}}';
  const servers = parsedConfig(edited("cursor", old), CLIENT_FORMATS.cursor)["mcpServers"];
  assert.deepEqual(servers, {
    switchyard: CLIENT_FORMATS.cursor.entry(URL),
    b: { url: "http://b" },
  });
  assert.match(edited("cursor", '{"mcpServers":{}}'), /"mcpServers":\{\n {4}"switchyard": \{/);
});

test("in TOML the tables of others stay byte for byte, a comment before the next table too", () => {
  const text = `# mine
model = "x"   # keep
[mcp_servers."switchyard"]
url = "http://old"
[mcp_servers.switchyard.env]
K = "V"

# of the screen
[tui]
x=1
[mcp_servers.other]
command = "node"`;
  assert.equal(
    edited("codex", text),
    `# mine
model = "x"   # keep

# of the screen
[tui]
x=1
[mcp_servers.other]
command = "node"

${EMPTY.codex}`,
  );
});

test("a file that cannot be read or edited safely is refused, without a word of it", () => {
  for (const [client, text] of [
    ["claude", '{"mcpServers": canary}'],
    ["claude", '["canary"]'],
    ["codex", "canary = = 1"],
    ["codex", 'mcp_servers = { canary = { url = "http://c" } }'],
  ] as const) {
    assert.throws(
      () => edited(client, text),
      (error: Error) => !error.message.includes("canary") && /cannot be/.test(error.message),
      `${client} ${text}`,
    );
  }
});

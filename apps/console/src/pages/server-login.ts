import type { ServerInfo } from "@switchyard/client/operations";
import { useEffect } from "preact/hooks";
import { act } from "../core/resource.ts";
import { address, navigate } from "../core/router.ts";
import { client } from "../core/session.ts";
import { ask } from "../ui/dialog.tsx";

const LOOPBACK = new Set(["127.0.0.1", "localhost", "[::1]"]);
/** Without a listener there, the browser shows the address, and the person pastes it. */
const NOWHERE = "http://127.0.0.1:9/signed-in";

/**
 * Begins a sign-in to an MCP server in a tab of its own. A code may only go to the machine of the person who signs in: where that
 * is the console's, the browser is redirected to it; else the person copies the address that it ends at.
 */
export async function signInTo({ id, name }: ServerInfo, onDone: () => void): Promise<void> {
  const isHere = location.protocol === "http:" && LOOPBACK.has(location.hostname);
  const redirectUri = isHere ? `${location.origin}/servers/${id}` : NOWHERE;
  const isBegun = await act("", async () => {
    const begun = await client.request("POST /mcp/servers/{id}/login", {
      path: { id },
      body: { redirectUri },
    });
    const target = new URL(begun.authorizationUrl);
    if (!["https:", "http:"].includes(target.protocol)) throw new Error("not a web address");
    open(target.href, "_blank", "noopener");
  });
  if (!isBegun || isHere) return;
  const given = await ask({
    title: `Sign in to ${name}`,
    text: "Sign in on the page that has opened in a new tab. It ends at an address that your browser cannot open. Copy that address and paste it here.",
    action: "Finish",
    input: { label: "Address" },
  });
  const answer = given === null ? null : answerIn(URL.parse(given));
  if (given !== null) await finish(id, answer, onDone);
}

/** Finishes the sign-in with which the browser comes back to the page of its server. */
export function useSignInAnswer(id: string, onDone: () => void): void {
  const answer = answerIn(address.value);
  useEffect(() => {
    if (answer === null) return;
    // A code works once, and must not stay in an address.
    navigate(`/servers/${encodeURIComponent(id)}`, { replace: true });
    void finish(id, answer, onDone);
  }, [answer?.code]);
}

interface Answer {
  readonly state: string;
  readonly code: string;
  readonly iss?: string;
}

function answerIn(url: URL | null): Answer | null {
  const [state, code, iss] = ["state", "code", "iss"].map((name) => url?.searchParams.get(name));
  if (!state || !code) return null;
  return { state, code, ...(iss && { iss }) };
}

async function finish(id: string, answer: Answer | null, onDone: () => void): Promise<void> {
  await act("Signed in", async () => {
    if (answer === null) throw new Error("This address has no code of a sign-in: begin again.");
    await client.request("POST /mcp/servers/{id}/login/finish", { path: { id }, body: answer });
  });
  onDone();
}

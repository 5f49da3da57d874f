import type { ChatLink } from "@switchyard/client/operations";
import { act, useResource } from "../core/resource.ts";
import { client, may } from "../core/session.ts";
import { ask } from "../ui/dialog.tsx";
import { ResourceView } from "../ui/resource-view.tsx";
import { Time } from "../ui/time.tsx";

/** The persons of chats who decide in the caller's name; for admins those of all users. */
export function ChatLinks() {
  const query = may("GET /keys") ? { user: "*" } : {};
  const links = useResource("GET /chat-links", { query });
  const revoke = async ({ id, caller, channel }: ChatLink): Promise<void> => {
    const answer = await ask({
      title: `End the link in ${channel}?`,
      text: `This person of the chat decides and answers for ${caller} no longer, at once.`,
      action: "End the link",
      isDangerous: true,
    });
    if (answer === null) return;
    const path = { id };
    await act(`${id} has ended`, () => client.request("DELETE /chat-links/{id}", { path }));
    links.reload();
  };
  return (
    <section class="card">
      <h2>Linked chats</h2>
      <ResourceView of={links}>
        {(data) =>
          data.links.length === 0 ? (
            <p class="quiet">
              No person of a chat decides here. <code>yard channels link</code> makes a code.
            </p>
          ) : (
            <ul class="lines" data-testid="chat-links">
              {data.links.map((link) => (
                <li key={link.id} data-testid="chat-link">
                  <strong>{link.caller}</strong>
                  <span>
                    {link.channel}/{link.accountId}, person {link.personId}
                  </span>
                  <span class="quiet">
                    {link.asks ? "gets calls and questions" : "decides in groups"}, ends{" "}
                    <Time at={link.expiresAt} />
                  </span>
                  {may("DELETE /chat-links/{id}") && (
                    <button type="button" class="button small" onClick={() => void revoke(link)}>
                      End
                    </button>
                  )}
                </li>
              ))}
            </ul>
          )
        }
      </ResourceView>
    </section>
  );
}

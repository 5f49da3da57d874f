import { useState } from "preact/hooks";
import { textsOf } from "../core/form.ts";
import { act, useResource } from "../core/resource.ts";
import { client, may } from "../core/session.ts";
import { ask, Dialog } from "../ui/dialog.tsx";
import { ResourceView } from "../ui/resource-view.tsx";
import { Time } from "../ui/time.tsx";

/** The stored secrets of servers. A value is written and never shown. */
export function ServerSecrets() {
  const secrets = useResource("GET /mcp/secrets", {}, ["server"]);
  const [stored, setStored] = useState<string | null>(null);
  if (!may("PUT /mcp/secrets/{name}")) return null;
  const remove = async (name: string): Promise<void> => {
    const text = "No server uses it. Its value is gone then.";
    const action = `Delete ${name}`;
    if ((await ask({ title: `${action}?`, text, action, isDangerous: true })) === null) return;
    const path = { name };
    await act(`${name} is deleted`, () => client.request("DELETE /mcp/secrets/{name}", { path }));
    secrets.reload();
  };
  return (
    <section class="card" data-testid="secrets">
      <div class="card-head">
        <h2>Secrets</h2>
        <button
          type="button"
          class="button small"
          data-testid="store-secret"
          onClick={() => setStored("")}
        >
          Store a secret
        </button>
      </div>
      <ResourceView of={secrets}>
        {(data) =>
          data.secrets.length === 0 ? (
            <p class="quiet">
              None yet. A declaration refers to one as <code>${"{secret:NAME}"}</code>.
            </p>
          ) : (
            <ul class="lines">
              {data.secrets.map(({ name, owner, updatedAt, usedBy }) => (
                <li key={name} data-testid={`secret-${name}`}>
                  <strong>{name}</strong>
                  <span class="quiet">
                    {usedBy.length === 0 ? "not used" : `used by ${usedBy.join(", ")}`} · {owner},{" "}
                    <Time at={updatedAt} />
                  </span>
                  <span class="actions">
                    <button type="button" class="button small" onClick={() => setStored(name)}>
                      Replace
                    </button>
                    {usedBy.length === 0 && (
                      <button
                        type="button"
                        class="button small danger"
                        onClick={() => void remove(name)}
                      >
                        Delete
                      </button>
                    )}
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </ResourceView>
      {stored !== null && (
        <StoreSecret
          name={stored}
          onClose={() => {
            setStored(null);
            secrets.reload();
          }}
        />
      )}
    </section>
  );
}

function StoreSecret({ name, onClose }: { name: string; onClose: () => void }) {
  const submit = async (event: SubmitEvent): Promise<void> => {
    const text = textsOf(event);
    const path = { name: name === "" ? text("name") : name };
    const body = { value: text("value") };
    const isDone = await act(`${path.name} is stored`, () =>
      client.request("PUT /mcp/secrets/{name}", { path, body }),
    );
    if (isDone) onClose();
  };
  return (
    <Dialog title={name === "" ? "Store a secret" : `Replace ${name}`} onClose={onClose}>
      <form onSubmit={(event) => void submit(event)}>
        <p>The broker encrypts it and never shows it. Servers that use it connect anew.</p>
        {name === "" && (
          <label class="field">
            <span>Name</span>
            <input name="name" required pattern="[A-Za-z0-9][A-Za-z0-9_\-]*" maxLength={64} />
          </label>
        )}
        <label class="field">
          <span>Value</span>
          <input name="value" type="password" required autocomplete="off" />
        </label>
        <div class="actions end">
          <button type="button" class="button" onClick={onClose}>
            Close
          </button>
          <button class="button primary">Store</button>
        </div>
      </form>
    </Dialog>
  );
}

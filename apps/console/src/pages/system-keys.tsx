import { useState } from "preact/hooks";
import { textsOf } from "../core/form.ts";
import { act, useResource } from "../core/resource.ts";
import { client, may } from "../core/session.ts";
import { Id, Snippet } from "../ui/copy.tsx";
import { ask, Dialog } from "../ui/dialog.tsx";
import { ResourceView } from "../ui/resource-view.tsx";
import { Status } from "../ui/status.tsx";
import { Time } from "../ui/time.tsx";

const ROLES = ["viewer", "operator", "approver", "admin"] as const;

/** API keys of programs and people. */
export function Keys() {
  const keys = useResource("GET /keys", {});
  const [made, setMade] = useState<string | null>(null);
  const [isMaking, setMaking] = useState(false);
  const revoke = async (id: string, caller: string): Promise<void> => {
    const answer = await ask({
      title: `Revoke the key ${id}?`,
      text: `What ${caller} does with it is refused at once, everywhere.`,
      action: "Revoke the key",
      isDangerous: true,
    });
    if (answer === null) return;
    await act(`${id} is revoked`, () => client.request("DELETE /keys/{id}", { path: { id } }));
    keys.reload();
  };
  return (
    <section class="card">
      <div class="card-head">
        <h2>API keys</h2>
        {may("POST /keys") && (
          <button type="button" class="button" onClick={() => setMaking(true)}>
            Make a key
          </button>
        )}
      </div>
      <ResourceView
        of={keys}
        empty={(data) =>
          data.keys.length > 0 ? null : <p>There is no key. Programs and people need one each.</p>
        }
      >
        {(data) => (
          <ul class="lines" data-testid="keys">
            {data.keys.map(({ id, caller, roles, note, expiresAt, revokedAt, createdAt }) => (
              <li key={id}>
                <Status is={revokedAt === null ? "active" : "revoked"} />
                <strong>{caller}</strong>
                <span>{roles.join(", ")}</span>
                <span class="quiet">
                  {note !== null && `${note} · `}made <Time at={createdAt} />
                  {expiresAt !== null && (
                    <>
                      , ends <Time at={expiresAt} />
                    </>
                  )}
                </span>
                <Id value={id} />
                {revokedAt === null && may("DELETE /keys/{id}") ? (
                  <button
                    type="button"
                    class="button small"
                    onClick={() => void revoke(id, caller)}
                  >
                    Revoke
                  </button>
                ) : (
                  <span />
                )}
              </li>
            ))}
          </ul>
        )}
      </ResourceView>
      {isMaking && (
        <MakeKey
          onClose={() => setMaking(false)}
          onMade={(key) => {
            setMaking(false);
            setMade(key);
            keys.reload();
          }}
        />
      )}
      {made !== null && (
        <Dialog title="The new key" onClose={() => setMade(null)}>
          <p>It is shown this once.</p>
          <Snippet label="API key" text={made} />
          <div class="actions end">
            <button type="button" class="button primary" onClick={() => setMade(null)}>
              I have it
            </button>
          </div>
        </Dialog>
      )}
    </section>
  );
}

function MakeKey({ onClose, onMade }: { onClose: () => void; onMade: (key: string) => void }) {
  const submit = (event: SubmitEvent): void => {
    const form = event.currentTarget as HTMLFormElement;
    const text = textsOf(event);
    const roles = ROLES.filter((role) => new FormData(form).has(role));
    const note = text("note").trim();
    const days = Number(text("days"));
    const body = {
      caller: text("caller"),
      roles,
      ...(note !== "" && { note }),
      ...(days > 0 && { ttlSeconds: days * 86_400 }),
    };
    void act("", async () => onMade((await client.request("POST /keys", { body })).key));
  };
  return (
    <Dialog title="Make a key" onClose={onClose}>
      <form onSubmit={submit}>
        <label class="field">
          <span>For whom: a caller’s name</span>
          <input name="caller" required maxLength={32} pattern="[a-z0-9][a-z0-9\-]*" />
        </label>
        <fieldset>
          <legend>Roles</legend>
          {ROLES.map((role) => (
            <label key={role} class="check">
              <input type="checkbox" name={role} defaultChecked={role === "viewer"} />
              {role}
            </label>
          ))}
        </fieldset>
        <label class="field">
          <span>Days that it lasts</span>
          <input name="days" type="number" min={1} max={3650} defaultValue="90" />
        </label>
        <label class="field">
          <span>Note (optional)</span>
          <input name="note" maxLength={200} />
        </label>
        <div class="actions end">
          <button type="button" class="button" onClick={onClose}>
            Close
          </button>
          <button class="button primary">Make the key</button>
        </div>
      </form>
    </Dialog>
  );
}

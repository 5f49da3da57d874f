import type { Reply } from "@switchyard/client/client";
import { useState } from "preact/hooks";
import { act, useAgainEvery, useResource } from "../core/resource.ts";
import { navigate } from "../core/router.ts";
import { client, may } from "../core/session.ts";
import { toast } from "../core/toasts.ts";
import { Fact } from "../run/run-facts.tsx";
import { CopyMenu } from "../ui/copy.tsx";
import { DataTable, type Column } from "../ui/data-table.tsx";
import { ask } from "../ui/dialog.tsx";
import { Page } from "../ui/page.tsx";
import { ResourceView } from "../ui/resource-view.tsx";
import { Status } from "../ui/status.tsx";
import { Time } from "../ui/time.tsx";
import { LOOK_AGAIN_MS, stateOf, WebhookForm, type Webhook } from "./webhooks.tsx";

type Shown = Reply<"GET /webhooks/{id}">;

const COLUMNS: readonly Column<Shown["dead"][number]>[] = [
  { title: "Given up", cell: ({ at }) => <Time at={at} /> },
  { title: "Event", cell: ({ event }) => event },
  { title: "Attempts", isWide: true, isNumber: true, cell: ({ attempts }) => attempts },
  { title: "Why", isMain: true, cell: ({ error }) => error },
];

const REASONS = {
  failing: "Nothing has succeeded for too long.",
  backlog: "Too much was waiting.",
  gone: "The receiver answered that it is gone.",
} as const;

/** One webhook: its state, and which deliveries were given up. */
export function WebhookPage({ params }: { params: Readonly<Record<string, string>> }) {
  const id = params["id"] ?? "";
  const shown = useResource("GET /webhooks/{id}", { path: { id } });
  useAgainEvery(shown, LOOK_AGAIN_MS);
  const [edited, setEdited] = useState<Webhook | null>(null);
  const redeliver = (): Promise<boolean> =>
    act("", async () => {
      const { redelivered } = await client.request("POST /webhooks/{id}/redeliver", {
        path: { id },
        body: {},
      });
      toast({ text: `It is enabled, and ${redelivered} are sent again`, tone: "good" });
      shown.reload();
    });
  const remove = async (): Promise<void> => {
    const answer = await ask({
      title: "Remove the webhook?",
      text: "Nothing is sent any more, and what was not delivered is forgotten.",
      action: "Remove the webhook",
      isDangerous: true,
    });
    if (answer === null) return;
    const isDone = await act("The webhook is removed", () =>
      client.request("DELETE /webhooks/{id}", { path: { id } }),
    );
    if (isDone) navigate("/webhooks");
  };
  const { webhook, dead = [] } = shown.data ?? {};
  const actions = webhook !== undefined && (
    <>
      {(dead.length > 0 || webhook.status === "disabled") &&
        may("POST /webhooks/{id}/redeliver") && (
          <button
            type="button"
            class="button primary"
            onClick={() => void redeliver()}
            data-testid="redeliver"
          >
            {dead.length > 0 ? "Send again" : "Enable"}
          </button>
        )}
      {may("PATCH /webhooks/{id}") && (
        <button
          type="button"
          class="button"
          onClick={() => setEdited(webhook)}
          data-testid="edit-webhook"
        >
          Edit
        </button>
      )}
      {may("DELETE /webhooks/{id}") && (
        <button
          type="button"
          class="button danger"
          onClick={() => void remove()}
          data-testid="remove-webhook"
        >
          Remove
        </button>
      )}
    </>
  );
  return (
    <Page
      title="Webhook"
      about={
        <>
          {webhook !== undefined && <Status is={stateOf(webhook)} />}{" "}
          <CopyMenu label="Copy" texts={{ "Webhook id": id }} />
        </>
      }
      cli={`yard webhooks deliveries ${id}`}
      nats="nats sub 'yard.evt.>'"
      actions={actions}
    >
      <ResourceView of={shown}>
        {(data) => (
          <>
            <WebhookFacts webhook={data.webhook} pending={data.pending} />
            <h2>Deliveries that were given up</h2>
            {data.dead.length === 0 ? (
              <p>None.</p>
            ) : (
              <DataTable
                label="Deliveries that were given up"
                testId="dead-deliveries"
                height="half"
                columns={COLUMNS}
                rows={data.dead}
                keyOf={({ deliveryId }) => deliveryId}
              />
            )}
          </>
        )}
      </ResourceView>
      {edited !== null && (
        <EditWebhook
          webhook={edited}
          onClose={() => setEdited(null)}
          onDone={() => {
            setEdited(null);
            shown.reload();
          }}
        />
      )}
    </Page>
  );
}

function EditWebhook({
  webhook,
  onClose,
  onDone,
}: {
  webhook: Webhook;
  onClose: () => void;
  onDone: () => void;
}) {
  const { id, version: ifMatch } = webhook;
  const save = async (body: object): Promise<void> => {
    const isDone = await act("The webhook is changed", () =>
      client.request("PATCH /webhooks/{id}", { path: { id }, body, ifMatch }),
    );
    if (isDone) onDone();
  };
  return (
    <WebhookForm
      title="Edit the webhook"
      action="Save"
      webhook={webhook}
      onClose={onClose}
      onSubmit={(settings) => void save(settings)}
    />
  );
}

function WebhookFacts({ webhook, pending }: { webhook: Webhook; pending: number }) {
  const { url, events, agent, createdAt, reason, failingSince, lastError } = webhook;
  return (
    <>
      <dl class="facts">
        <Fact name="URL">{url}</Fact>
        <Fact name="Events">{events.join(", ")}</Fact>
        <Fact name="Agent">{agent ?? "all"}</Fact>
        <Fact name="Waiting">{pending}</Fact>
        <Fact name="Made">
          <Time at={createdAt} />
        </Fact>
        {failingSince !== null && (
          <Fact name="Failing since">
            <Time at={failingSince} />
          </Fact>
        )}
      </dl>
      {(reason !== null || lastError !== null) && (
        <div class="note bad" data-testid="webhook-error">
          <strong>{reason === null ? "The last attempt failed" : REASONS[reason]}</strong>
          {lastError !== null && <p class="text">{lastError}</p>}
        </div>
      )}
    </>
  );
}

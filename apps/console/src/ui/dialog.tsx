import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { textsOf } from "../core/form.ts";
import { useSeen } from "../core/seen.ts";

/**
 * A modal dialog; the browser keeps the focus in it and restores it afterwards. What a person has written is not lost by Escape or a
 * click beside it: only a button closes it then.
 */
export function Dialog(props: {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  size?: "wide";
  testId?: string;
  /** True: what is typed is a search, which is not worth keeping. */
  isSearch?: boolean;
}) {
  const { title, onClose, children, size, testId, isSearch = false } = props;
  const element = useRef<HTMLDialogElement>(null);
  const isWritten = useRef(false);
  // A selection of text that ends beside the dialog is a click on what is around both ends.
  const isPressedBeside = useRef(false);
  const [isKept, setKept] = useState(false);
  const leave = (): void => (isWritten.current ? setKept(true) : onClose());
  useEffect(() => {
    const dialog = element.current;
    const before = document.activeElement;
    dialog?.showModal();
    return () => {
      dialog?.close();
      // A browser restores no focus for a dialog that has left the document.
      if (document.activeElement === document.body && before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      class={size ?? ""}
      aria-labelledby="dialog-title"
      data-testid={testId ?? "dialog"}
      onCancel={(event) => {
        event.preventDefault();
        leave();
      }}
      onKeyDown={(event) => {
        // Without this a second Escape closes it in Chromium, whatever the page wants.
        if (event.key !== "Escape" || !isWritten.current) return;
        event.preventDefault();
        leave();
      }}
      onInput={() => void (isWritten.current = !isSearch)}
      onPointerDown={(event) => void (isPressedBeside.current = event.target === element.current)}
      onClick={(event) => event.target === element.current && isPressedBeside.current && leave()}
    >
      <div class="dialog-body">
        <h2 id="dialog-title">{title}</h2>
        {children}
        <div role="status" class={isKept ? "note wait" : "visually-hidden"}>
          {isKept && (
            <>
              <p>It stays open, because you wrote in it.</p>
              <button type="button" class="button small" onClick={onClose}>
                Discard that and close
              </button>
            </>
          )}
        </div>
      </div>
    </dialog>
  );
}

interface Question {
  readonly title: string;
  readonly text: ComponentChildren;
  /** Foreign text about the prompt's object, such as arguments; shown unchanged. */
  readonly details?: string;
  readonly action: string;
  readonly isDangerous?: boolean;
  /** Prompts for a text, too. */
  readonly input?: { readonly label: string; readonly isLong?: boolean; readonly value?: string };
}

const asked = signal<(Question & { answer: (given: string | null) => void }) | null>(null);

/** Resolves with the text that was entered ("" without a text field), null when it was cancelled. */
export function ask(question: Question): Promise<string | null> {
  return new Promise((resolve) => {
    asked.value = {
      ...question,
      answer(given) {
        asked.value = null;
        resolve(given);
      },
    };
  });
}

/** Renders the prompts of `ask`. */
export function QuestionHost() {
  const question = asked.value;
  return question === null ? null : <QuestionDialog key={question.title} {...question} />;
}

function QuestionDialog(question: NonNullable<typeof asked.value>) {
  const { title, text, details, action, isDangerous, input, answer } = question;
  // The second click of a double click was not meant for what has just come under the pointer.
  const isSeen = useSeen(title);
  const submit = (event: SubmitEvent): void => {
    answer(textsOf(event)("text"));
  };
  return (
    <Dialog
      title={title}
      onClose={() => answer(null)}
      testId="confirm"
      {...(details !== undefined && { size: "wide" })}
    >
      <form onSubmit={submit}>
        <p>{text}</p>
        {details !== undefined && (
          <pre class="text" tabIndex={0}>
            {details}
          </pre>
        )}
        {input !== undefined && (
          <label class="field">
            <span>{input.label}</span>
            {input.isLong === true ? (
              <textarea name="text" rows={5} defaultValue={input.value ?? ""} />
            ) : (
              <input name="text" defaultValue={input.value ?? ""} maxLength={500} />
            )}
          </label>
        )}
        <div class="actions end">
          <button type="button" class="button" onClick={() => answer(null)}>
            Keep as it is
          </button>
          <button
            class={`button ${isDangerous === true ? "danger" : "primary"}`}
            disabled={isDangerous === true && !isSeen}
          >
            {action}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

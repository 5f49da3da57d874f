/** The server's answer to one request, in any protocol. */
export interface ScriptedAnswer {
  /** Pieces of text. */
  readonly text?: readonly string[];
  /** `args` is the text that the model writes; a protocol without text arguments takes its JSON. */
  readonly calls?: readonly {
    readonly id: string;
    readonly name: string;
    readonly args: string;
    /** The group of the tool, for models that are offered tools in groups (Responses). */
    readonly namespace?: string;
  }[];
  /** Reasoning in the protocol's own field, where it has one: Chat Completions of DeepSeek and others, Responses, and Messages. */
  readonly reasoning?: string;
  /** The protocol's own reason for the answer's end; missing: derived from its parts. */
  readonly finish?: string;
  /** Tokens of the input that were cached. */
  readonly cached?: number;
  /** The connection breaks off before the answer's end. */
  readonly isCut?: boolean;
  /** The provider reports an error in mid-answer. */
  readonly failsWith?: string;
}

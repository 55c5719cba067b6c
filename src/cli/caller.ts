import type {
  DescMessage,
  DescMethodServerStreaming,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import type { status } from "@grpc/grpc-js";

/** Calls methods of the contract: of a service, or on a database that is opened here. */
export interface Caller {
  /** @throws CallFailure. */
  unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
  ): Promise<MessageShape<O>>;
  /** Ends without an error when the signal is aborted. @throws CallFailure. */
  stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    request: MessageInitShape<I>,
    signal: AbortSignal,
  ): AsyncIterable<MessageShape<O>>;
  close(): Promise<void>;
}

/** A call that did not succeed. */
export class CallFailure extends Error {
  override readonly name = "CallFailure";
  readonly code: Exclude<status, status.OK>;
  /** Descriptions of all wrong values, one line each; empty when the message says it all. */
  readonly violations: readonly string[];
  /** Whether the service itself said so; else nothing that is one has answered. */
  readonly answered: boolean;

  constructor(facts: {
    readonly code: Exclude<status, status.OK>;
    readonly message: string;
    readonly violations?: readonly string[];
    readonly answered: boolean;
  }) {
    super(facts.message);
    this.code = facts.code;
    this.violations = facts.violations ?? [];
    this.answered = facts.answered;
  }
}

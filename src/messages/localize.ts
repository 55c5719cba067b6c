import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  ConnectError,
  type HandlerContext,
  type StreamRequest,
  type UnaryRequest,
} from "@connectrpc/connect";
import { codeToString } from "@connectrpc/connect/protocol-connect";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  LocalizedMessageSchema,
} from "../../gen/google/rpc/error_details_pb.js";
import { type Call, headerOf } from "../gateway/call.ts";
import type { LocalizableError, Violation } from "./error.ts";
import { chooseLanguage, type Language, type Translate } from "./language.ts";
import { Message, type Text, textIn } from "./message.ts";
import { MESSAGES, type MessageId } from "./table.ts";

/**
 * Finds the language for the answer to a call, and sets `content-language` unless it is English.
 * Over REST, the rule of the binding sets the header.
 *
 * @param asked language of the request message.
 */
export type LanguageOf = (context: HandlerContext, asked: string) => Language;

/** Limits of the cache of parsed headers: browsers send few different ones. */
const MAX_KEPT = 64;
const MAX_KEPT_LENGTH = 200;

export function createLanguageOf(): LanguageOf {
  const kept = new Map<string, Language>();
  const accepted = (header: string | undefined): Language => {
    if (header === undefined) return "en";
    const language = kept.get(header) ?? chooseLanguage("", header);
    if (kept.size < MAX_KEPT && header.length <= MAX_KEPT_LENGTH) kept.set(header, language);
    return language;
  };
  return (context, asked) => {
    const language =
      asked === ""
        ? accepted(headerOf(context, "accept-language"))
        : chooseLanguage(asked, undefined);
    if (language !== "en" && context.protocolName !== "rest")
      context.responseHeader.set("content-language", language);
    return language;
  };
}

/** Localizes errors of calls, in the language of the request message or the header. */
export function localizeFailure(localize: Localize) {
  return (error: ConnectError, request: UnaryRequest | StreamRequest): unknown => {
    const { call } = request as { readonly call?: Call };
    const asked = (request.message as { readonly languageCode?: unknown }).languageCode;
    return localize(error, call, typeof asked === "string" ? asked : "");
  };
}

/**
 * Adds the message in the language of a call to an error that is sent, as
 * `google.rpc.LocalizedMessage`, and to each violation.
 *
 * @param asked language of the request message; empty: the header decides.
 */
export type Localize = (
  error: unknown,
  call: Pick<Call, "header"> | undefined,
  asked?: string,
) => unknown;

/** Translates a text of a reply to the language of the call's header. */
export type SayIn = (context: HandlerContext) => (text: Text) => string;

export function createSayIn(translations: (language: Language) => Translate): SayIn {
  const languageOf = createLanguageOf();
  return (context) => {
    const translate = translations(languageOf(context, ""));
    return (text) => textIn(text, translate);
  };
}

export function createLocalize(translations: (language: Language) => Translate): Localize {
  return (error, call, asked = "") => {
    if (!(error instanceof ConnectError) || call === undefined) return error;
    const locale = chooseLanguage(asked, call.header("accept-language"));
    if (locale === "en" || error.findDetails(LocalizedMessageSchema).length > 0) return error;
    const translate = translations(locale);
    const localized = (text: Message) => ({ locale, message: text.in(translate) });
    const details = error.details.map((detail) =>
      "desc" in detail && detail.desc === BadRequestSchema
        ? { ...detail, value: violationsIn(detail.value, violationsOf(error), localized) }
        : detail,
    );
    error.details = [...details, { desc: LocalizedMessageSchema, value: localized(textOf(error)) }];
    return error;
  };
}

/**
 * Members of a LocalizableError, and of an error of the upstream, in addition to a ConnectError.
 */
type Localizable = ConnectError & Partial<Pick<LocalizableError, "text" | "violations">>;

/** The message of an error; an error without an id has one that is chosen by its code. */
function textOf(error: ConnectError): Message {
  const { text } = error as Localizable;
  if (text instanceof Message) return text;
  const [info] = error.findDetails(ErrorInfoSchema);
  if (info !== undefined && Object.hasOwn(MESSAGES, info.reason))
    return new Message(info.reason as MessageId, info.metadata);
  const id = `CODE_${codeToString(error.code).toUpperCase()}`;
  return new Message(id as MessageId, { message: error.rawMessage });
}

function violationsOf(error: ConnectError): readonly Violation[] {
  return (error as Localizable).violations ?? [];
}

function violationsIn(
  { fieldViolations = [] }: MessageInitShape<typeof BadRequestSchema>,
  violations: readonly Violation[],
  localized: (text: Message) => MessageInitShape<typeof LocalizedMessageSchema>,
): MessageInitShape<typeof BadRequestSchema> {
  return {
    fieldViolations: fieldViolations.map(({ field = "", description = "", reason = "" }, at) => {
      const text = violations[at]?.description;
      return {
        field,
        description,
        reason,
        ...(text instanceof Message && { localizedMessage: localized(text) }),
      };
    }),
  };
}

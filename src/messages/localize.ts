import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  ConnectError,
  type HandlerContext,
  type StreamRequest,
  type UnaryRequest,
} from "@connectrpc/connect";
import { codeToString } from "@connectrpc/connect/protocol-connect";
import { BadRequestSchema, LocalizedMessageSchema } from "../../gen/google/rpc/error_details_pb.js";
import { type Call, headerOf } from "../gateway/call.ts";
import { memoize } from "../memoize.ts";
import { createErrorTranslation } from "./error-text.ts";
import { chooseLanguage, type Language, type Translate } from "./language.ts";

/**
 * Finds the language that a call is to be answered in, which is said in `content-language` unless it
 * is English. REST says it by the rule of its binding.
 *
 * @param asked what the request's message says.
 */
export type LanguageOf = (context: HandlerContext, asked: string) => Language;

/** Most headers whose meaning is kept, and the longest: browsers send few different ones. */
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

/** For errors of calls: the language is the one that the request's message or the header asks for. */
export function localizeFailure(localize: Localize) {
  return (error: ConnectError, request: UnaryRequest | StreamRequest): unknown => {
    const { call } = request as { readonly call?: Call };
    const asked = (request.message as { readonly languageCode?: unknown }).languageCode;
    return localize(error, call, typeof asked === "string" ? asked : "");
  };
}

/**
 * Adds the message in the language of a call to an error that is going to be sent: as
 * `google.rpc.LocalizedMessage` beside the English one, and likewise to each violation.
 *
 * @param asked the language that the request's message asks for; empty: the header decides.
 */
export type Localize = (error: unknown, call: Call | undefined, asked?: string) => unknown;

/** Says a sentence of a reply in the language of its call, as the header asks for it. */
export type SayIn = (context: HandlerContext) => (text: string) => string;

/** In English where a sentence has no translation. */
export function createSayIn(translations: (language: Language) => Translate): SayIn {
  const languageOf = createLanguageOf();
  const translation = memoize((language: Language) =>
    createErrorTranslation(translations(language)),
  );
  return (context) => {
    const language = languageOf(context, "");
    if (language === "en") return (text) => text;
    const translate = translation(language);
    // A list of sites says the same of many keys.
    return memoize((text) => (text === "" ? "" : translate(text, "")), { limit: MAX_KEPT });
  };
}

export function createLocalize(translations: (language: Language) => Translate): Localize {
  const translation = memoize((language: Language) =>
    createErrorTranslation(translations(language)),
  );
  return (error, call, asked = "") => {
    if (!(error instanceof ConnectError) || call === undefined) return error;
    const locale = chooseLanguage(asked, call.header("accept-language"));
    if (locale === "en" || error.findDetails(LocalizedMessageSchema).length > 0) return error;
    const translate = translation(locale);
    const name = codeToString(error.code);
    const said = (text: string) => ({ locale, message: translate(text, name) });
    const details = error.details.map((detail) =>
      "desc" in detail && detail.desc === BadRequestSchema
        ? { ...detail, value: violationsIn(detail.value, said) }
        : detail,
    );
    error.details = [...details, { desc: LocalizedMessageSchema, value: said(error.rawMessage) }];
    return error;
  };
}

function violationsIn(
  { fieldViolations = [] }: MessageInitShape<typeof BadRequestSchema>,
  said: (text: string) => MessageInitShape<typeof LocalizedMessageSchema>,
): MessageInitShape<typeof BadRequestSchema> {
  return {
    fieldViolations: fieldViolations.map(({ field = "", description = "" }) => ({
      field,
      description,
      localizedMessage: said(description),
    })),
  };
}

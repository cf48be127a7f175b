import { clip } from '../../util/clip.ts';
import type { PatchOperation } from '../../util/patch.ts';
import type { CallSignal } from './deadline.ts';
import { type AdmissionRequest, REVIEW } from './review.ts';

/** The answer of a webhook to a review. */
export type AdmissionAnswer =
  | {
      readonly allowed: true;
      /** The patch; without one, the object is not changed. */
      readonly operations?: readonly PatchOperation[];
      /** Warnings for the client, one line each; kubectl prints them. */
      readonly warnings?: readonly string[];
    }
  | {
      readonly allowed: false;
      /** The HTTP status. The other fields belong to the Status (meta/v1). */
      readonly code: number;
      readonly reason?: string;
      readonly message: string;
      readonly details?: StatusDetails;
    };

/** The details of a Status: the refused object, and each of its faults. */
interface StatusDetails {
  readonly kind: string;
  readonly name: string;
  readonly causes: readonly { readonly reason: string; readonly field: string; readonly message: string }[];
}

/** Handles the reviews of one webhook. An error becomes HTTP 500, and the failurePolicy applies. */
export type ReviewHandler = (request: AdmissionRequest, signal: CallSignal) => Promise<AdmissionAnswer>;

/**
 * Beyond 4096 characters in total, the API server cuts each to 256 (k8s.io/apiserver, endpoints/filters/warning.go).
 */
const MAX_WARNING = 256;
const MAX_WARNINGS = 10;

/** The body of the answer. A patch has its type beside it; without operations, both are absent. */
export function formatReview(uid: string, answer: AdmissionAnswer): string {
  const { allowed, ...status } = answer;
  if (!allowed) return JSON.stringify({ ...REVIEW, response: { uid, allowed, status } });
  const { operations = [], warnings = [] } = answer;
  const patch = operations.length > 0 && { patchType: 'JSONPatch', patch: patchText(operations) };
  const heard = warnings.length > 0 && { warnings: cutWarnings(warnings) };
  return JSON.stringify({ ...REVIEW, response: { uid, allowed, ...patch, ...heard } });
}

/** The texts of frozen patches, which are those of many pods. */
const frozenTexts = new WeakMap<readonly PatchOperation[], string>();

/** The patch as the API server wants it: JSON in base64. */
function patchText(operations: readonly PatchOperation[]): string {
  const known = frozenTexts.get(operations);
  if (known !== undefined) return known;
  const text = Buffer.from(JSON.stringify(operations)).toString('base64');
  if (Object.isFrozen(operations)) frozenTexts.set(operations, text);
  return text;
}

function cutWarnings(warnings: readonly string[]): readonly string[] {
  const cut = warnings.slice(0, MAX_WARNINGS).map((warning) => clip(warning, MAX_WARNING));
  const more = warnings.length - cut.length;
  return more === 0 ? cut : [...cut, `and ${more} more`];
}

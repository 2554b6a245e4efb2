/** @jest-environment-options {"env": {"WIRE_DIALECT": "weave"}} */
import { WIRE } from '../../support/wire.js';
// runs the same tests in the other dialect
import '../../tracing/eval-compare.e2e-spec.js';
import '../../tracing/eval-results.e2e-spec.js';
import './evaluation-runs.e2e-spec.js';

it('is the dialect weave in which they run', () => {
  expect(WIRE).toMatchObject({ scheme: 'weave', ref: 'weave_ref' });
});

/** @jest-environment-options {"env": {"WIRE_DIALECT": "weave"}} */
import { WIRE } from '../support/wire.js';
// runs the same tests in the other dialect
import './eval-compare.e2e-spec.js';
import './eval-results.e2e-spec.js';
import './evaluation-runs.e2e-spec.js';

it('is the dialect weave in which they run', () => {
  expect(WIRE).toMatchObject({ scheme: 'weave', ref: 'weave_ref' });
});

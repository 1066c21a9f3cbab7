// Keys that change a run, but no short run of the reference.
#pragma once

#include <algorithm>
#include <map>
#include <string>

namespace thtrain {

/// Keys whose effect cannot be seen in a short run of the reference, and the test that sees it.
inline const std::map<std::string, std::string> kSeenElsewhere = {
    {"data[friedman].", "Friedman.ItsKeysMatter"},  // all of them
    {"data[two_digits].", "TwoDigits.ItsKeysMatter"},
    {"data[moons].", "Moons.ItsKeysMatter"},
    {"data[topics].", "Topics.ItsKeysMatter"},
    {"data[ratings].", "Ratings.ItsKeysMatter"},
    {"data[coordinates].", "CoordinatesSource.ItsKeysMatter"},
    {"data[sparse].", "SparseSource.ItsKeysMatter"},
    {"data[libsvm].sparse", "Libsvm.SparseExamplesAreTheDenseOnes"},
    {"loss.outputs[contrastive_divergence].", "ContrastiveDivergenceTest.PersistentChainsAreNumPys"},
    {"output.plot_scale", "CliCompare.ThePlotScaleIsThatOfTheKeyAndOfTheOption"},
    {"output.filter_rows", "PicturesOfRuns.TheirKeysMatter"},
    {"output.filter_columns", "PicturesOfRuns.TheirKeysMatter"},
    {"output.samples", "PicturesOfRuns.TheirKeysMatter"},
    {"output.augmented", "PicturesOfRuns.AugmentedImagesAreNextToTheirChanges"},
    {"output.sample_chains", "PicturesOfRuns.TheirKeysMatter"},
    {"output.sample_rows", "PicturesOfRuns.TheirKeysMatter"},
    {"output.sample_steps", "PicturesOfRuns.TheirKeysMatter"},
    {"data[reber].", "Reber.ItsKeysMatter"},
    {"data[adding].", "Adding.ItsKeysMatter"},
    {"data[text].", "Text.ItsKeysMatter"},
    {"data[piano_rolls].", "PianoRolls.ItsKeysMatter"},
    {"data[strokes].", "StrokesSource.ItsKeysMatter"},
    {"data[npy].sequences", "SequenceFiles.ItsKeysMatter"},
    {"data[npy].train_lengths", "SequenceFiles.ItsKeysMatter"},
    {"data[npy].valid_lengths", "SequenceFiles.ItsKeysMatter"},
    {"data[npy].test_lengths", "SequenceFiles.ItsKeysMatter"},
    {"loss[ctc].blank", "CtcRun.LearnsLabelsAndTheBlankIsThatOfTheOptions"},
    {"loss.outputs[ctc].blank", "CtcRun.LearnsLabelsAndTheBlankIsThatOfTheOptions"},
    {"compiler.device", "CliDevice.EmulatedRunsCudaKernels"},
    {"compiler.conv_tolerance", "Tuner.LargerErrorsAreTakenWithinTheToleranceOnly"},
    {"compiler.tf32", "Tf32.RoundsProductsAndConvolutionsWhereAnExperimentSaysSo"},
    {"compiler.tune", "CliTune.MeasuresEveryProductAndRemembersTheFastest"},
    {"compiler.exclude_rewrites", "CliCommands.ExcludedRewritesAreNotApplied"},
    {"compiler.only_candidates", "CliTune.TimesConvolutionsAndObeysLists"},
    {"compiler.include_candidates", "CandidateLists.IncludeAddsAndExcludeTakesAway"},
    {"compiler.exclude_candidates", "CliTune.TimesConvolutionsAndObeysLists"},
    {"compiler.candidate_files", "CandidateFiles.ARunTakesTheGoodAndGoesOnWithoutTheBad"},
    {"compiler.guard_nan", "NanGuardOfARun.ObeysItsKeys"},
    {"compiler.guard_infinity", "NanGuardOfARun.ObeysItsKeys"},
    {"compiler.guard_above", "NanGuardOfARun.ObeysItsKeys"},
    {"compiler.workspace_limit", "CandidateLists.WorkspacesHaveALimit"},
    {"compiler.background", "CliRun.TheReferenceTrainsWhileTheCompilerIsAtWork"},
};

inline bool is_seen_elsewhere(const std::string& label) {
  return std::any_of(kSeenElsewhere.begin(), kSeenElsewhere.end(), [&](const auto& entry) {
    return label == entry.first || (entry.first.ends_with('.') && label.starts_with(entry.first));
  });
}

}  // namespace thtrain
